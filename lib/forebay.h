/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forebay - batches of photographs for PyTorch, made by worker processes in
 * shared memory.  This header is the whole public interface.
 *
 *	struct fby_settings s;
 *	struct fby_loader *loader;
 *	struct fby_batch batch;
 *
 *	fby_settings_init(&s);
 *	s.batch_size = 256;
 *	s.n_ops = 1;
 *	s.op[0] = (struct fby_op){ .kind = FBY_OP_RESIZE_EXACT, .n_args = 2,
 *				   .arg = { 224, 224 } };
 *	if (fby_loader_open("imagenet/train", &s, &loader) < 0)
 *		errx(1, "%s", fby_error());
 *	while ((r = fby_loader_next(loader, &batch)) != FBY_END) {
 *		if (r == FBY_AGAIN)
 *			continue;
 *		train(batch.images, batch.labels, batch.n);
 *		fby_loader_release(loader, &batch);
 *	}
 *	fby_loader_close(loader);
 *
 * Rules of use
 *
 * 1. Lifetime.  A batch points into a slot of the pool.  It is yours, and is
 *    never overwritten, until you release it; also after fby_loader_close().
 *    The memory of the pool goes when the loader is closed and the last batch
 *    is released.
 * 2. Threads.  One thread at a time calls open, seek, next, stats and close of
 *    one loader.  fby_loader_release() may be called by any thread at any time,
 *    also from a finaliser: it takes no lock and does not block.
 * 3. Fork.  A forked child may read batches that it inherited, and class names.
 *    Calls of such a loader that can fail do so with -EOWNERDEAD in the child; a
 *    release and a close are ignored.
 * 4. Output.  The library prints nothing.  See fby_set_log().
 * 5. Signals.  The library installs no handler.  fby_loader_next() comes back
 *    with FBY_AGAIN at each signal and at least ten times a second.
 *
 * Errors and answers
 *
 * A function that can fail returns int.  0 is success.  A negative value is
 * -errno: the call failed, fby_error() says why in a sentence that names the
 * file or the sample.  A positive value is an answer listed at the function.
 */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FBY_API __attribute__((visibility("default")))

/* ---- version ---- */

#define FBY_VERSION "0.1.0"

/* The version of the library at run time, "major.minor.patch". */
FBY_API const char *fby_version(void);

/*
 * sizeof of a public struct by its name ("fby_settings"), 0 for a name that is
 * not known: lets a foreign binding compare its own idea of the layout.
 */
FBY_API size_t fby_sizeof(const char *name);

/* ---- answers ---- */

#define FBY_END   1 /* the epoch is over; the next call begins the next epoch */
#define FBY_AGAIN 2 /* nothing yet; call again (a signal, or 100 ms went by) */

/* ---- settings ---- */

struct fby_loader; /* opaque */

/* Element type of the image field. */
enum { FBY_U8, FBY_F16, FBY_BF16, FBY_F32 };

/* Order of an image in memory, in torch's meaning; its shape is always C, H, W. */
enum { FBY_CONTIGUOUS, FBY_CHANNELS_LAST };

/*
 * What stands in the place of a row that could not be made: an exact copy of the next
 * good row of its batch (after the last row comes the first), with that one's label and
 * id; or zeros, with its own label and id.  Where no row of the batch is good, zeros.
 */
enum { FBY_BAD_REPLACE, FBY_BAD_ZEROS };

/*
 * Operations, named after torchvision's transforms, with their arguments.
 * Sizes are in pixels.  A pipeline must end with an image size that does not
 * depend on the photograph.
 */
enum {
	/* height, width, scale_min, scale_max, ratio_min, ratio_max */
	FBY_OP_RANDOM_RESIZED_CROP = 1,
	/* shorter side */
	FBY_OP_RESIZE,
	/* height, width */
	FBY_OP_RESIZE_EXACT,
	/* height, width */
	FBY_OP_CENTER_CROP,
	/* probability */
	FBY_OP_RANDOM_HORIZONTAL_FLIP,
	/* mean r, g, b; standard deviation r, g, b; of values scaled to 0..1 */
	FBY_OP_NORMALIZE,
};

#define FBY_MAX_OPS  16
#define FBY_MAX_ARGS 10

struct fby_op {
	uint32_t kind;   /* FBY_OP_... */
	uint32_t n_args; /* how many of arg are given */
	double arg[FBY_MAX_ARGS];
};

/* Fill with fby_settings_init(), then change what you need. */
struct fby_settings {
	uint32_t size;          /* sizeof(struct fby_settings): for growth */
	uint32_t batch_size;    /* rows; default 64 */
	uint32_t n_workers;     /* processes; default 0: the CPUs we may use */
	uint32_t n_slots;       /* batches in the pool; default 0: 6 */
	uint32_t dtype;         /* FBY_U8 ...; default FBY_U8 */
	uint32_t memory_format; /* default FBY_CONTIGUOUS */
	uint32_t shuffle;       /* 0 or 1; default 0 */
	uint32_t drop_last;     /* 0 or 1: leave out a short last batch; default 0 */
	uint32_t pillow;        /* 13 or 12: whose resized pixels; default 13 */
	uint32_t n_ops;         /* how many of op are given; default 0 */
	uint64_t seed;          /* of order and transforms; default 0 */
	struct fby_op op[FBY_MAX_OPS];
	/*
	 * The run ends when more samples are bad, each counted once, than max_bad_rows
	 * and than this share of the rows handed out so far, bad ones counted in.
	 */
	double max_bad;        /* 0 to 1; default 0.01 */
	uint32_t max_bad_rows; /* default 10 */
	uint32_t on_bad;       /* default FBY_BAD_REPLACE */
};

FBY_API void fby_settings_init(struct fby_settings *settings);

/* ---- a loader's life ---- */

/*
 * Opens the dataset at `path`, an image folder (path/class/photo.jpg), makes
 * the pool, starts the workers, and begins with epoch 0.  Where the folder has
 * no index, or an old one, the `forebay` program is run to build it first.
 *
 * Returns 0 and sets *ret_loader, or
 *   -ENOENT     no such folder, no image in it, no worker program
 *   -EINVAL     a setting that makes no sense
 *   -ENOMEM     the pool does not fit; the text has the sum written out
 *   other -errno from the system.
 */
FBY_API int fby_loader_open(const char *path, const struct fby_settings *settings,
			    struct fby_loader **ret_loader);

/* What a loader is: constant while it lives. */
struct fby_info {
	uint64_t n_samples;
	uint64_t n_batches; /* an epoch */
	uint64_t pool_bytes;
	uint64_t image_bytes; /* one image in the slot */
	uint32_t n_classes;
	uint32_t n_workers;
	uint32_t n_slots;
	uint32_t batch_size;
	uint32_t channels, height, width;
	uint32_t dtype, memory_format;
};

FBY_API int fby_loader_info(struct fby_loader *loader, struct fby_info *ret_info);

/*
 * Name of a class, in the order of the class ids; NULL past the end.  Lives as
 * long as the loader.
 */
FBY_API const char *fby_loader_class_name(struct fby_loader *loader, uint32_t label);

/*
 * Path of a sample's file, cut to `size` bytes with its final 0.  -ERANGE for
 * an id the dataset does not have.
 */
FBY_API int fby_loader_sample_path(struct fby_loader *loader, uint64_t id, char *ret_path,
				   size_t size);

/* Where the next fby_loader_next() stands. */
FBY_API int fby_loader_position(struct fby_loader *loader, uint64_t *ret_epoch,
				uint64_t *ret_batch);

/*
 * The next batch will be number `batch` of epoch `epoch`.  Free where that is
 * the position already; otherwise the batches made ahead are dropped.  Waits
 * for rows that workers hold at this moment.  Returns 0, or FBY_AGAIN: call
 * again with the same arguments.  -ERANGE: the epoch has no such batch.
 */
FBY_API int fby_loader_seek(struct fby_loader *loader, uint64_t epoch, uint64_t batch);

/* A batch: rows of every field lie back to back. */
struct fby_batch {
	uint64_t seq;   /* counts from 0 over the life of the loader */
	uint64_t epoch; /* and which batch of it: */
	uint64_t index;
	uint32_t n;     /* rows; less than batch_size in a short last batch */
	uint32_t n_bad; /* rows that could not be made: see on_bad */
	uint32_t slot;  /* with `seq`: what fby_loader_release() goes by */
	uint32_t padding;
	void *images;              /* n x image_bytes */
	const int64_t *labels;     /* n */
	const uint64_t *ids;       /* n sample ids; valid until the release */
	struct fby_loader *loader; /* whose it is; NULL: nothing to release */
};

/*
 * Takes the next batch.  Returns 0 and fills *ret_batch; FBY_END once at the
 * end of each epoch; FBY_AGAIN when there is nothing yet; -ENOSR when every
 * slot is held by the caller; -EPIPE when the workers died too often; -EUCLEAN, from
 * then on for good, when more samples are bad than max_bad allows: the data need
 * cleaning, and fby_loader_bad_list() has them all.
 * A crash of a worker costs time, never a row.
 */
FBY_API int fby_loader_next(struct fby_loader *loader, struct fby_batch *ret_batch);

#define FBY_REASON_BYTES 96

/* What became of a row. */
enum {
	FBY_ROW_GOOD = 1,
	FBY_ROW_BAD,    /* the sample cannot be made: there is a reason */
	FBY_ROW_POISON, /* too many workers died of it */
};

struct fby_bad_sample {
	uint32_t row, status; /* FBY_ROW_BAD or FBY_ROW_POISON */
	uint64_t id;
	char reason[FBY_REASON_BYTES];
};

/*
 * The `k`th bad row, from 0, of a batch that is not yet released: `id` is the sample
 * that could not be made, whatever stands in its place.  -ERANGE when k >= n_bad.
 */
FBY_API int fby_loader_bad_sample(struct fby_loader *loader,
				  const struct fby_batch *batch, uint32_t k,
				  struct fby_bad_sample *ret_sample);

/* So many bad samples of a run are listed; more are counted. */
#define FBY_MAX_BAD_LIST 65536

/*
 * The `k`th bad sample of the run, from 0, in the order in which they were met, each
 * sample once; `row` is its place in the batch where it was met.  -ERANGE when there
 * are no more.
 */
FBY_API int fby_loader_bad_list(struct fby_loader *loader, uint32_t k,
				struct fby_bad_sample *ret_sample);

/*
 * Gives a batch back.  A second release of the same batch is ignored while the loader is
 * there: until it is closed and the last batch released.
 */
FBY_API void fby_loader_release(struct fby_loader *loader, const struct fby_batch *batch);

/*
 * The same for a finaliser that has nothing but the batch: releases it and sets its
 * `loader` to NULL, so that a second time does nothing, whatever became of the loader.
 * A batch that was never filled, all zeros, is ignored.
 */
FBY_API void fby_batch_release(struct fby_batch *batch);

/*
 * Stops the workers and forgets the loader; NULL is allowed.  Batches that are
 * not yet released stay readable and may still be released.
 */
FBY_API void fby_loader_close(struct fby_loader *loader);

/* ---- counters ---- */

#define FBY_N_STAGES  5
#define FBY_HISTOGRAM 32

/* Stages of a worker's time, in the order of `stage_ns`. */
enum {
	FBY_STAGE_READ,
	FBY_STAGE_DECODE,
	FBY_STAGE_RESAMPLE,
	FBY_STAGE_STORE,
	FBY_STAGE_IDLE
};

/* All counters grow from the start of the loader. */
struct fby_stats {
	uint64_t batches;                /* handed out */
	uint64_t samples;                /* made by workers */
	uint64_t bytes_read;             /* of files, by workers */
	uint64_t stage_ns[FBY_N_STAGES]; /* sum over workers */
	uint64_t waits;                  /* times that next had to wait */
	uint64_t wait_ns;
	uint64_t wait_histogram[FBY_HISTOGRAM]; /* waits of [2^i, 2^(i+1)) us; 0: below 2
						   us */
	uint64_t depth_sum;     /* complete batches found at entry of next, summed */
	uint64_t slices_needed; /* waits that only a time-out ended: 0 if all is well */
	uint64_t handover_ns; /* last wait: from the last commit to the caller running */
	uint64_t deaths;      /* workers that ended unasked */
	uint64_t rows_taken_back;
	uint64_t bad_rows;      /* rows handed out that could not be made */
	uint64_t rows_replaced; /* of them: copies of good rows */
	uint64_t bad_samples;   /* samples that could not be made, each once */
	uint64_t seeks;
	uint64_t pool_bytes;
	uint64_t trainer_cpu_ns; /* CPU of the supervisor thread */
	uint32_t slots_leased, slots_free;
};

FBY_API int fby_loader_stats(struct fby_loader *loader, struct fby_stats *ret_stats);

/* pid of worker `i` at this moment, 0 when it is being replaced; -ERANGE. */
FBY_API int fby_loader_worker_pid(struct fby_loader *loader, uint32_t i);

/* ---- texts ---- */

/* Why the last call of this thread failed: one sentence.  Never NULL. */
FBY_API const char *fby_error(void);

/* Levels by how often something happens. */
enum { FBY_LOG_ERROR, FBY_LOG_RUN, FBY_LOG_EPOCH, FBY_LOG_BATCH, FBY_LOG_SAMPLE };

/*
 * Sends messages up to `level` to `sink`, which any thread may call; NULL
 * silences.  Where it was never called, FOREBAY_LOG=error|run|epoch|batch|sample
 * writes to standard error.
 */
FBY_API void fby_set_log(int level, void (*sink)(int level, const char *text));

#ifdef __cplusplus
}
#endif
#endif
