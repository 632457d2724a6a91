import '../unit/engines/tinker/codec/codec.test';
import '../unit/engines/tinker/codec/codec-hostile-bytes.test';
import '../unit/engines/tinker/codec/codec-round-trips.test';
