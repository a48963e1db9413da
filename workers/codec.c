/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the codec for some bytes, and a name for bytes that have none.
 */
#include "workers/codec.h"
#include "lib/fail.h"
#include <errno.h>
#include <string.h>

static const struct fby_codec *const codecs[FBY_N_CODECS] = {
	&fby_codec_jpeg,
	&fby_codec_png,
};

/* How well-known formats begin that are not read here. */
static const struct {
	const char *name;
	unsigned at, n;
	const char *bytes;
} others[] = {
	{ "GIF", 0, 4, "GIF8" },         { "WebP", 8, 4, "WEBP" },
	{ "BMP", 0, 2, "BM" },           { "TIFF", 0, 4, "II*\0" },
	{ "TIFF", 0, 4, "MM\0*" },       { "AVIF", 4, 8, "ftypavif" },
	{ "HEIF", 4, 4, "ftyp" },        { "JPEG 2000", 0, 8, "\0\0\0\x0cjP  " },
	{ "JPEG XL", 0, 2, "\xff\x0a" }, { "PNM", 0, 2, "P5" },
	{ "PNM", 0, 2, "P6" },           { "icon", 0, 4, "\0\0\1\0" },
	{ "PDF", 0, 5, "%PDF-" },        { "HTML", 0, 5, "<html" },
	{ "HTML", 0, 9, "<!DOCTYPE" },   { "gzip", 0, 2, "\x1f\x8b" },
};

const struct fby_codec *fby_codec_get(unsigned k)
{
	assert(k < FBY_N_CODECS);
	return codecs[k];
}

int fby_codec_find(struct fby_bytes bytes)
{
	uint8_t head[4] = { 0 };

	for (int k = 0; k < FBY_N_CODECS; k++)
		if (codecs[k]->claims(bytes))
			return k;
	for (unsigned i = 0; i < FBY_ARRAY_SIZE(others); i++)
		if (bytes.n >= others[i].at + others[i].n &&
		    memcmp(bytes.at + others[i].at, others[i].bytes, others[i].n) == 0)
			return fby_fail(-ENOTSUP, "this is %s data, which is not read",
					others[i].name);
	if (bytes.n == 0)
		return fby_fail(-ENOTSUP, "the file is empty");
	memcpy(head, bytes.at, bytes.n < 4 ? bytes.n : 4);
	return fby_fail(-ENOTSUP,
			"no picture known here: %zu bytes that begin with "
			"%02x %02x %02x %02x",
			bytes.n, head[0], head[1], head[2], head[3]);
}

int fby_codec_check_size(const char *name, uint64_t width, uint64_t height)
{
	if (width == 0 || height == 0)
		return fby_fail(-EBADMSG, "%s: a picture of %llux%llu pixels", name,
				(unsigned long long)width, (unsigned long long)height);
	if (width > FBY_MAX_PIXELS || height > FBY_MAX_PIXELS / width)
		return fby_fail(-EBADMSG,
				"%s: %llux%llu pixels are more than %u, the limit", name,
				(unsigned long long)width, (unsigned long long)height,
				FBY_MAX_PIXELS);
	return 0;
}
