/**
 * Python programs that hold memory where a look at their processes does not find it. Each would hold up to 300 MiB, says how much it got, and waits.
 * What ends one by an error ends it as lack of memory.
 */
const BEGIN = `
import array, ctypes, fcntl, mmap, os, resource, socket, sys, threading, time
MEBIBYTE = 1024 * 1024
library = ctypes.CDLL(None, use_errno=True)
library.shmat.restype = ctypes.c_void_p
library.mmap.restype = ctypes.c_void_p
for name in ("mmap", "munmap", "memset", "shmdt", "vmsplice"):
    getattr(library, name).argtypes = None

def checked(result):
    if result in (-1, 0xffffffffffffffff):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def hold(mebibytes):
    print("held", mebibytes, flush=True)
    time.sleep(600)

def anonymous(bytes, flags, protection=3):
    return checked(library.mmap(None, ctypes.c_size_t(bytes), protection, flags | 0x20, -1, ctypes.c_long(0)))

def fill(place, bytes):
    library.memset(ctypes.c_void_p(place), 1, ctypes.c_size_t(bytes))

def in_child(action):
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    os.waitpid(child, 0)
`;

const SHARED = 0x1;

/** Segments that no process has attached. */
const SEGMENTS = `
for _ in range(30):
    segment = checked(library.shmget(0, ctypes.c_size_t(10 * MEBIBYTE), 0o1600))
    place = checked(library.shmat(segment, None, 0))
    fill(place, 10 * MEBIBYTE)
    library.shmdt(ctypes.c_void_p(place))
hold(300)
`;

/** Files that are memory, sent and closed: nobody has them open. */
const FILES_ON_THEIR_WAY = `
ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for _ in range(6):
    file = os.memfd_create("m")
    for _ in range(50):
        os.write(file, b"x" * MEBIBYTE)
    ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    os.close(file)
hold(300)
`;

const SOCKET_BUFFERS = `
count = 0
def fill_sockets():
    held = []
    for _ in range(100):
        for end in (pair := socket.socketpair()):
            end.setblocking(False)
            try:
                while True:
                    end.send(b"x" * 65536)
            except BlockingIOError:
                pass
        held.append(pair)
    time.sleep(600)
for _ in range(8):
    if os.fork() == 0:
        fill_sockets()
hold(300)
`;

const LARGE_SOCKET_BUFFERS = `
held = []
for _ in range(8):
    if os.fork() == 0:
        for _ in range(50):
            for end in (pair := socket.socketpair()):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
                end.setblocking(False)
                try:
                    while True:
                        end.send(b"x" * 65536)
                except BlockingIOError:
                    pass
            held.append(pair)
        time.sleep(600)
hold(300)
`;

const CONNECTIONS = `
listener = socket.create_server(("127.0.0.1", 0))
held = []
for _ in range(60):
    held.append((socket.create_connection(listener.getsockname()), listener.accept()[0]))
sent = 0
while sent < 300 * MEBIBYTE:
    for pair in held:
        for end in pair:
            end.setblocking(False)
            try:
                sent += end.send(b"x" * 65536)
            except BlockingIOError:
                pass
hold(300)
`;

/** Filled by children that are gone: no process has touched it. */
const LEFT_BY_CHILDREN = `
for _ in range(30):
    place = anonymous(10 * MEBIBYTE, ${SHARED})
    in_child(lambda: fill(place, 10 * MEBIBYTE))
hold(300)
`;

const LEFT_BY_CHILDREN_IN_SMALL = `
for _ in range(300):
    place = anonymous(MEBIBYTE, ${SHARED})
    in_child(lambda: fill(place, MEBIBYTE))
hold(300)
`;

/** The first page of each keeps the others. */
const REMAINS_OF_MAPPINGS = `
for _ in range(300):
    place = anonymous(MEBIBYTE, ${SHARED})
    fill(place, MEBIBYTE)
    library.munmap(ctypes.c_void_p(place + 4096), ctypes.c_size_t(MEBIBYTE - 4096))
hold(300)
`;

/** Of addresses without memory: one table of 4 KiB for each 2 MiB. */
const TABLES_OF_ADDRESSES = `
room = mmap.mmap(-1, 150 * 1024 * MEBIBYTE, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)
for at in range(0, len(room), 2 * MEBIBYTE):
    room[at]
hold(300)
`;

/** A process whose first thread has ended tells nothing of itself. */
const WITHOUT_FIRST_THREAD = `
def fill_in_thread():
    while "State:\\tZ" not in open("/proc/self/status").read():
        time.sleep(0.01)
    held = [bytearray(b"x") * (10 * MEBIBYTE) for _ in range(10)]
    time.sleep(600)
for _ in range(3):
    if os.fork() == 0:
        threading.Thread(target=fill_in_thread).start()
        library.syscall(ctypes.c_long({"x86_64": 60, "aarch64": 93}[os.uname().machine]), 0)
hold(300)
`;

/** Their content is empty, their names are not. */
const NAMES = `
for number in range(300_000):
    os.close(os.open(f"/tmp/{number}", os.O_CREAT))
hold(300)
`;

const SEMAPHORES = `
for _ in range(150):
    checked(library.semget(0, 32000, 0o1600))
hold(300)
`;

/** A byte of each large page, kept by a pipe. */
const PAGES_IN_PIPES = `
class Piece(ctypes.Structure):
    _fields_ = [("place", ctypes.c_void_p), ("length", ctypes.c_size_t)]
pipes = [os.pipe() for _ in range(20)]
for number in range(150):
    place = anonymous(4 * MEBIBYTE, 2)
    large = (place + 2 * MEBIBYTE - 1) // (2 * MEBIBYTE) * 2 * MEBIBYTE
    library.madvise(ctypes.c_void_p(large), ctypes.c_size_t(2 * MEBIBYTE), 14)
    fill(large, 2 * MEBIBYTE)
    checked(library.vmsplice(pipes[number % 20][1], ctypes.byref(Piece(large, 1)), ctypes.c_size_t(1), 0))
    library.munmap(ctypes.c_void_p(place), ctypes.c_size_t(4 * MEBIBYTE))
hold(300)
`;

/** What happened, told to many who do not listen. */
const EVENTS = `
os.mkdir("/tmp/watched")
watches = [checked(library.inotify_init1(0)) for _ in range(100)]
for watch in watches:
    checked(library.inotify_add_watch(watch, b"/tmp/watched", 0xfff))
for number in range(3000):
    os.mkdir(f"/tmp/watched/{'x' * 240}{number}")
    os.rmdir(f"/tmp/watched/{'x' * 240}{number}")
hold(300)
`;

const RULES = `
create, add = {"x86_64": (444, 445), "aarch64": (444, 445)}[os.uname().machine]
for _ in range(80):
    rules = checked(library.syscall(ctypes.c_long(create), ctypes.byref((ctypes.c_uint64 * 2)(0, 1)), ctypes.c_size_t(16), 0))
    for port in range(60_000):
        library.syscall(ctypes.c_long(add), rules, 2, ctypes.byref((ctypes.c_uint64 * 2)(1, port)), 0)
hold(300)
`;

/** A quarter of a kibibyte each, as many as a program likes. */
const LOCKS = `
for number in range(30):
    file = os.open(f"file-{number}", os.O_CREAT | os.O_RDWR)
    for at in range(1000):
        fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * at, 0)
hold(8)
`;

/** Of nothing: the lists of them are memory of the system. */
const MAPPINGS = `
def map_much():
    place = anonymous(65_000 * 4096, 2, 0)
    for page in range(0, 65_000, 2):
        library.mprotect(ctypes.c_void_p(place + page * 4096), ctypes.c_size_t(4096), 1)
    time.sleep(600)
for _ in range(4):
    if os.fork() == 0:
        map_much()
hold(60)
`;

/** The path of a mapped file, each of whose characters is told as four, lies in the system for each descriptor that read it. */
const TOLD_OF_PROCESSES = `
import mmap, os, time
folder = os.open("/tmp", os.O_RDONLY)
name = "\\n" * 255
for _ in range(1000):
    os.mkdir(name, dir_fd=folder)
    inner = os.open(name, os.O_RDONLY, dir_fd=folder)
    os.close(folder)
    folder = inner
file = os.open("f", os.O_RDWR | os.O_CREAT, dir_fd=folder)
os.ftruncate(file, 4096)
mapped = mmap.mmap(file, 4096)
held = []
for _ in range(100):
    held.append(os.open("/proc/self/maps", os.O_RDONLY))
    while os.read(held[-1], 1 << 20): pass
time.sleep(60)
`;

const sources = {
  'segments that nobody has attached': SEGMENTS,
  'files on their way through a socket': FILES_ON_THEIR_WAY,
  'buffers of sockets': SOCKET_BUFFERS,
  'large buffers of sockets': LARGE_SOCKET_BUFFERS,
  'connections of its own network': CONNECTIONS,
  'shared memory that children leave': LEFT_BY_CHILDREN,
  'small pieces of shared memory that children leave': LEFT_BY_CHILDREN_IN_SMALL,
  'shared memory of which it maps one page': REMAINS_OF_MAPPINGS,
  'tables of addresses': TABLES_OF_ADDRESSES,
  'processes without a first thread': WITHOUT_FIRST_THREAD,
  'names of empty files': NAMES,
  semaphores: SEMAPHORES,
  'pages that pipes keep': PAGES_IN_PIPES,
  'events that nobody reads': EVENTS,
  'rules of what files may be read': RULES,
  'locks of files': LOCKS,
  'mappings of nothing': MAPPINGS,
  'what is told of it to whoever reads it': TOLD_OF_PROCESSES,
};

export const MEMORY_ATTACKS: readonly (readonly [string, string])[] = Object.entries(sources).map(
  ([name, source]) => [name, BEGIN + source],
);
