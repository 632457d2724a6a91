/** Each writes 200 MiB into the working folder, where a count of what is listed and held open does not find it, and waits. */

const WRITE = `
import ctypes, os, signal, time

def write(place, descriptor=None):
    file = os.open(place, os.O_RDWR | os.O_CREAT, dir_fd=descriptor)
    for _ in range(10):
        os.write(file, b"x" * (1024 * 1024))
    return file

`;

const MAPPED_FILES = `${WRITE}
library = ctypes.CDLL(None)
library.mmap.restype = ctypes.c_void_p
library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for number in range(20):
    file = write(f"file-{number}")
    os.unlink(f"file-{number}")
    library.mmap(None, 4096, 1, 1, file, 0)
    os.close(file)
signal.pause()
`;

/** Of another user than root, which sees what may not be seen. */
const CLOSED_FOLDER = `${WRITE}
os.mkdir("folder")
os.mkdir("folder/deeper")
os.chmod("folder/deeper", 0o300)
os.chmod("folder", 0o300)
for number in range(20):
    os.close(write(f"folder/deeper/file-{number}"))
os.chmod("folder", 0)
signal.pause()
`;

const HIDDEN_DESCRIPTORS = `${WRITE}
import shutil, sys
if len(sys.argv) == 1:
    shutil.copy("/usr/bin/python3", "unreadable")
    os.chmod("unreadable", 0o111)
    os.execv("unreadable", ["python3", "program.py", "again"])
held = []
for number in range(20):
    held.append(write("file"))
    os.unlink("file")
signal.pause()
`;

const MOVING_FOLDERS = `${WRITE}
parents = [os.open(".", os.O_RDONLY)]
for _ in range(4):
    os.mkdir("n0", dir_fd=parents[-1])
    parents.append(os.open("n0", os.O_RDONLY, dir_fd=parents[-1]))
for parent in parents[:-1]:
    if os.fork() == 0:
        number = 0
        while True:
            os.rename(f"n{number}", f"n{number + 1}", src_dir_fd=parent, dst_dir_fd=parent)
            number += 1
for number in range(20):
    os.close(write(f"file-{number}", parents[-1]))
signal.pause()
`;

/** From the folder that is looked at last into the one that was just looked at, as its time of reading tells. */
const EVADING_FOLDER = `${WRITE}
for name in ("first", "second", "second/held"):
    os.mkdir(name)
held = os.open("second/held", os.O_RDONLY)
if os.fork() == 0:
    while True:
        looked = os.stat("first").st_atime_ns
        while os.stat("first").st_atime_ns == looked:
            pass
        os.rename("second/held", "first/held")
        time.sleep(0.03)
        os.rename("first/held", "second/held")
for number in range(20):
    os.close(write(f"file-{number}", held))
signal.pause()
`;

/** Each process begins the next, which has its descriptors, and ends. */
const CHAIN_OF_PROCESSES = `${WRITE}
library = ctypes.CDLL(None)
held = []
for number in range(20):
    held.append(os.open("file", os.O_RDWR | os.O_CREAT))
    os.unlink("file")
if library.fork() == 0:
    number = 0
    while True:
        if number % 20 == 0 and number < 4_000:
            os.write(held[number // 20 % 20], b"x" * (1024 * 1024))
        number += 1
        next = library.fork()
        while next < 0:
            next = library.fork()
        if next > 0:
            library._exit(0)
signal.pause()
`;

export const DISK_ATTACKS: readonly (readonly [string, string])[] = [
  ['files without a name that are mapped', MAPPED_FILES],
  ['folders whose names change all the time', MOVING_FOLDERS],
  ['a folder that goes where nobody looks', EVADING_FOLDER],
  ['descriptors of processes that end at once', CHAIN_OF_PROCESSES],
];

export const DISK_ATTACKS_OF_OTHERS: readonly (readonly [string, string])[] = [
  ['files without a name that are mapped', MAPPED_FILES],
  ['a folder that cannot be listed', CLOSED_FOLDER],
  ['descriptors that cannot be listed', HIDDEN_DESCRIPTORS],
  ['folders whose names change all the time', MOVING_FOLDERS],
];
