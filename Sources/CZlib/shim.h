#include <zlib.h>

/* inflateInit2 is a macro. 15 bits of window, and 16 for gzip's header and checksum. */
static inline int haul_inflate_begin(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
