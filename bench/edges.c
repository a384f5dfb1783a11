/* Edges of SQLite's control flow that a hunt reaches, and those that single queries reach.

   Linked with an amalgamation that clang compiled with -fsanitize-coverage=inline-bool-flag and in which the functions
   that are defined here are called plain_... instead of sqlite3_...; bench/edges.py builds it. A flag per edge is set
   when the edge is taken, and only this file clears it.

   A hunt's executor notes which statement of which case it runs in its flight recorder, a file that it maps; it is read
   here. Statements before the first case (validation of snippets, probes) do not count.

   Of each process that runs cases there are, in the directory that EDGES_DIR names:
     PID.map   struct head, then a byte per edge: 1 reached by a statement that makes databases, 2 by a query
     PID.log   of one case in EDGES_SAMPLE each statement: struct entry, its text, the numbers of its edges
     PID.curve edges over CPU time
*/

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DONE 101
#define SETUP ((uint64_t)1 << 32)
#define FLUSH_EVERY 4096

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int plain_open_v2(const char *, sqlite3 **, int, const char *);
int plain_close(sqlite3 *);
int plain_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int plain_step(sqlite3_stmt *);
int plain_finalize(sqlite3_stmt *);

struct head {
    uint64_t edges, cpu_ns, cpu_ns_max, statements, queries, done;
};

struct entry {
    uint64_t block, case_, step;
    int32_t code;
    uint32_t text, edges;
};

struct position {
    uint64_t block, case_, statement, tick;
};

static uint8_t *flags, *reached;
static uint64_t edges;
static struct head *head;
static const volatile struct position *recorder;
static FILE *log_file, *curve;
static uint64_t started_ns, shown_ns, sample_every = 500;
static int looked, is_query, is_sampled, code;
static const char *text;
static int text_length;
static struct position at;

void __sanitizer_cov_bool_flag_init(uint8_t *start, uint8_t *end) {
    flags = start;
    edges = (uint64_t)(end - start);
}

void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *end) {
    (void)start;
    (void)end;
}

static uint64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The recorder that this process has mapped; none in processes that are no executors. */
static void find_recorder(void) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (strstr(line, "/recorder-")) recorder = (const void *)strtoull(line, NULL, 16);
    }
    if (maps) fclose(maps);
}

static FILE *file_of(const char *dir, const char *suffix) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", dir, (int)getpid(), suffix);
    FILE *file = fopen(path, "w+");
    if (!file) {
        fprintf(stderr, "cannot write %s\n", path);
        abort();
    }
    return file;
}

static void begin(void) {
    const char *dir = getenv("EDGES_DIR"), *sample = getenv("EDGES_SAMPLE"), *most = getenv("EDGES_CPU_SECONDS");
    if (!dir) abort();
    if (sample) sample_every = strtoull(sample, NULL, 10);
    size_t size = sizeof *head + edges;
    FILE *map = file_of(dir, "map");
    if (ftruncate(fileno(map), (off_t)size) != 0) abort();
    head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(map), 0);
    if (head == MAP_FAILED) abort();
    fclose(map);
    reached = (uint8_t *)(head + 1);
    log_file = file_of(dir, "log");
    curve = file_of(dir, "curve");
    head->edges = edges;
    head->cpu_ns_max = most ? strtoull(most, NULL, 10) * 1000000000u : UINT64_MAX;
    started_ns = cpu_ns();
    memset(flags, 0, edges);
}

/* Takes over and clears the flags that are set. */
static void flush(void) {
    uint8_t bit = is_query ? 2 : 1;
    for (uint64_t i = 0; i < edges; i++) reached[i] |= (uint8_t)(flags[i] * bit);
    memset(flags, 0, edges);
    head->cpu_ns = cpu_ns() - started_ns;
    if (head->cpu_ns >= head->cpu_ns_max) head->done = 1;
    if (head->cpu_ns < shown_ns && !head->done) return;
    uint64_t all = 0, by_queries = 0;
    for (uint64_t i = 0; i < edges; i++) {
        all += reached[i] != 0;
        by_queries += reached[i] >> 1;
    }
    fprintf(curve, "%.1f %lu %lu %lu\n", (double)head->cpu_ns / 1e9, all, by_queries, head->queries);
    fflush(curve);
    shown_ns = head->cpu_ns + 5000000000u;
    if (head->done) fflush(log_file);
}

static int counts(void) {
    if (!looked) {
        find_recorder();
        looked = 1;
    }
    if (!recorder || recorder->block == UINT64_MAX) return 0;
    if (!head) begin();
    return !head->done;
}

/* Of a hash of the case, so that which are taken depends on nothing else. */
static int takes(uint64_t block, uint64_t case_) {
    uint64_t hash = (block * 96 + case_ + 1) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    return (hash * 0xD6E8FEB86659FD93u >> 33) % sample_every == 0;
}

/* Looking at a failure makes its database again, with statements that are noted as the case's. */
static int returns_rows(const char *sql) {
    return strncasecmp(sql, "SELECT", 6) == 0 || strncasecmp(sql, "WITH", 4) == 0 || strncasecmp(sql, "VALUES", 6) == 0;
}

static void become(int query) {
    if (query != is_query) {
        flush();
        is_query = query;
    }
}

static void end_statement(void) {
    if (!is_sampled) return;
    is_sampled = 0;
    struct entry entry = {at.block, at.case_, at.statement, code, (uint32_t)text_length, 0};
    for (uint64_t i = 0; i < edges; i++) entry.edges += flags[i];
    fwrite(&entry, sizeof entry, 1, log_file);
    fwrite(text, 1, entry.text, log_file);
    for (uint32_t i = 0; i < edges; i++) {
        if (flags[i]) fwrite(&i, sizeof i, 1, log_file);
    }
    flush();
}

EXPORT int sqlite3_open_v2(const char *name, sqlite3 **db, int open_flags, const char *vfs) {
    return plain_open_v2(name, db, open_flags, vfs);
}

EXPORT int sqlite3_close(sqlite3 *db) {
    int result = plain_close(db);
    if (counts()) become(0);
    return result;
}

EXPORT int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int length, sqlite3_stmt **statement, const char **rest) {
    if (!counts()) return plain_prepare_v2(db, sql, length, statement, rest);
    at = *recorder;
    become(at.statement < SETUP && returns_rows(sql));
    head->statements++;
    head->queries += is_query;
    if (head->statements % FLUSH_EVERY == 0) flush();
    is_sampled = is_query && takes(at.block, at.case_);
    if (is_sampled) {
        flush();
        text_length = length < 0 ? (int)strlen(sql) : length;
        text = sql;
    }
    code = plain_prepare_v2(db, sql, length, statement, rest);
    if (code != 0) end_statement();
    return code;
}

EXPORT int sqlite3_step(sqlite3_stmt *statement) {
    return code = plain_step(statement);
}

EXPORT int sqlite3_finalize(sqlite3_stmt *statement) {
    int result = plain_finalize(statement);
    if (head && !head->done) end_statement();
    return result;
}
