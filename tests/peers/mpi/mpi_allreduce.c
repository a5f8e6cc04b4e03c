// mpi_allreduce measures MPI_Allreduce (float, MPI_SUM) on command, so that a
// benchmark can interleave it with its own measurements in one run.
//
// Rank 0 says on stdout, once:   ready RANKS LIBRARY
// then reads lines from stdin:   BYTES ITERS BATCH KIND
// and answers each with:         ok WRONG TOUCH_NS NS_1 ... NS_ITERS
// or with:                       error MESSAGE
// It ends at end of file, or at the line "quit".
//
// What a sample is. Before every call each rank rewrites its whole input with
// values that depend on rank, call and index, so that no call finds its data
// untouched in a cache.
//   BATCH = 1: rewrite, barrier, then one timed call. The rewrite is not timed.
//   BATCH > 1: barrier, then BATCH times (rewrite, call), timed together and
//              divided by BATCH. TOUCH_NS is what one rewrite costs by itself.
// A sample is the maximum over the ranks. KIND = 0 reduces in place
// (MPI_IN_PLACE); 1 reduces from one buffer into another. WRONG counts the
// elements, over all ranks, that were wrong after the last call, among at most
// 128 K of each rank, evenly spread.
//   KIND = 2: only the rewriting, BATCH times, from the first rank's start to
//             the last one's end: all ranks want the cores and the memory at
//             once, as they do in a batch of calls. TOUCH_NS is one rank's.
//
// Between commands the ranks sleep on a futex in shared memory: a rank that
// waited inside MPI would poll, and spoil whatever is measured meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A command as rank 0 publishes it; seq is the futex.
struct command {
    int seq;
    int quit;
    long bytes, iters, batch;
    int kind;
};

enum { IN_PLACE, SEPARATE, REWRITE_ONLY };

static int rank, nranks;
static float *base, *in, *out; // the rewriting's source, input, output
static size_t room;            // elements that each of them holds

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static float base_value(int r, size_t i) { return (float)((r * 3 + i) % 17); }

// Small whole numbers: every sum is exact, whatever the order of reduction.
static void rewrite(float *restrict dst, const float *restrict src, size_t n, long call) {
    float shift = (float)(call & 7);
    for (size_t i = 0; i < n; i++) dst[i] = src[i] + shift;
}

static float *aligned_floats(size_t n) {
    void *p = NULL;
    if (posix_memalign(&p, 4096, n * sizeof(float)) != 0) return NULL;
    memset(p, 0, n * sizeof(float));
    return p;
}

static int reserve(size_t n) {
    if (n <= room) return 1;
    free(base), free(in), free(out);
    base = aligned_floats(n), in = aligned_floats(n), out = aligned_floats(n);
    room = base && in && out ? n : 0;
    for (size_t i = 0; i < room; i++) base[i] = base_value(rank, i);
    return room != 0;
}

static void allreduce(size_t n, int kind) {
    if (kind == SEPARATE)
        MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Allreduce(MPI_IN_PLACE, in, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static long count_wrong(const float *got, size_t n, long last_call) {
    long wrong = 0;
    size_t step = n / (128 << 10) + 1;
    for (size_t i = 0; i < n; i += step) {
        float want = (float)nranks * (float)(last_call & 7);
        for (int r = 0; r < nranks; r++) want += base_value(r, i);
        wrong += got[i] != want;
    }
    return wrong;
}

// The time of one rewrite alone: the best of three short batches.
static double time_touch(size_t n, long batch) {
    double best = 1e30;
    if (batch > 10) batch = 10;
    for (int k = 0; k < 3; k++) {
        long t0 = now_ns();
        for (long b = 0; b < batch; b++) {
            rewrite(in, base, n, b);
            __asm__ volatile("" : : "r"(in) : "memory"); // keep every rewrite
        }
        double t = (double)(now_ns() - t0) / (double)batch;
        if (t < best) best = t;
    }
    return best;
}

// Samples of the rewriting alone. The clock is the same in all processes.
static void take_rewrites(const struct command *c, size_t n, double *ns) {
    for (long it = 0; it < c->iters; it++) {
        MPI_Barrier(MPI_COMM_WORLD);
        long from = now_ns(), to, first, last;
        for (long b = 0; b < c->batch; b++) {
            rewrite(in, base, n, b);
            __asm__ volatile("" : : "r"(in) : "memory"); // keep every rewrite
        }
        to = now_ns();
        MPI_Allreduce(&from, &first, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&to, &last, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
        ns[it] = (double)(last - first) / (double)c->batch;
    }
}

// Returns the number of calls made.
static long take_samples(const struct command *c, size_t n, double *ns) {
    long call = 0;
    for (long it = 0; it < c->iters; it++) {
        if (c->batch == 1) {
            rewrite(in, base, n, call++);
            MPI_Barrier(MPI_COMM_WORLD);
            long t0 = now_ns();
            allreduce(n, c->kind);
            ns[it] = (double)(now_ns() - t0);
            continue;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        long t0 = now_ns();
        for (long b = 0; b < c->batch; b++) {
            rewrite(in, base, n, call++);
            allreduce(n, c->kind);
        }
        ns[it] = (double)(now_ns() - t0) / (double)c->batch;
    }
    return call;
}

// Every rank runs every command; rank 0 prints the answer.
static void measure(const struct command *c) {
    size_t n = (size_t)c->bytes / sizeof(float);
    double *ns = malloc((size_t)c->iters * sizeof *ns);
    double *worst = malloc((size_t)c->iters * sizeof *worst);
    int ok = ns && worst && reserve(n), all_ok = 0;
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all_ok) {
        if (rank == 0) printf("error out of memory for %ld bytes\n", c->bytes);
    } else {
        long wrong = 0, all_wrong = 0;
        if (c->kind == REWRITE_ONLY) {
            take_rewrites(c, n, ns);
        } else {
            long calls = take_samples(c, n, ns);
            wrong = count_wrong(c->kind == SEPARATE ? out : in, n, calls - 1);
        }
        double touch = time_touch(n, c->batch), worst_touch = 0;
        MPI_Reduce(ns, worst, (int)c->iters, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(&touch, &worst_touch, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("ok %ld %.1f", all_wrong, worst_touch);
            for (long i = 0; i < c->iters; i++) printf(" %.1f", worst[i]);
            printf("\n");
        }
    }
    fflush(stdout);
    free(ns), free(worst);
}

// Fills *c from the next good line of stdin.
static void read_command(struct command *c) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "quit\n") == 0) break;
        if (sscanf(line, "%ld %ld %ld %d", &c->bytes, &c->iters, &c->batch, &c->kind) == 4 &&
            c->bytes >= 4 && c->bytes % 4 == 0 && c->bytes / 4 <= INT_MAX && c->iters >= 1 &&
            c->iters <= 1000000 && c->batch >= 1)
            return;
        printf("error expected BYTES ITERS BATCH KIND, found %s", line);
        if (!strchr(line, '\n')) printf("\n");
        fflush(stdout);
    }
    c->quit = 1;
}

static void await_command(int *seq, int seen) {
    while (__atomic_load_n(seq, __ATOMIC_ACQUIRE) == seen)
        syscall(SYS_futex, seq, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void publish(int *seq) {
    __atomic_fetch_add(seq, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a killed mpirun leaves nothing behind
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);

    MPI_Win win;
    MPI_Aint size;
    int unit;
    struct command *shared;
    MPI_Win_allocate_shared(rank == 0 ? sizeof *shared : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
    MPI_Win_shared_query(win, 0, &size, &unit, &shared);
    if (rank == 0) memset(shared, 0, sizeof *shared);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        char name[MPI_MAX_LIBRARY_VERSION_STRING];
        int len;
        MPI_Get_library_version(name, &len);
        name[strcspn(name, ",\n")] = 0;
        printf("ready %d %s\n", nranks, name);
        fflush(stdout);
    }
    for (int seen = 0;; seen++) {
        if (rank == 0) {
            read_command(shared);
            publish(&shared->seq);
        } else {
            await_command(&shared->seq, seen);
        }
        struct command c = *shared;
        if (c.quit) break;
        measure(&c);
        // Rank 0 may overwrite the command once everybody has copied it, which
        // measure's reductions make certain for a run that ended well or not.
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
