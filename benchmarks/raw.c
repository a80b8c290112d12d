/* The raw limit: how many bytes per second bare sockets bring to each receiver, with nothing on top.
 *
 *   raw --mode udp-fanout|udp-multicast|tcp --members N --senders K --size BYTES --seconds S
 *       [--group 239.1.1.1] [--interface 127.0.0.1] [--buffer BYTES]
 *
 * It forks N members. The first K send blocks of BYTES to all others as fast as the kernel takes them, unpaced and
 * unrepaired; everybody but a lone sender counts the bytes it receives during S seconds, after a short warm-up.
 * A member that does both takes turns: it drains what has arrived, then sends one block. Own copies are not counted.
 * One JSON object goes to standard output; a failure is one sentence on standard error and exit code 2.
 *
 * Only on loopback and on interfaces the caller names; the multicast mode expects a route for the group.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MEMBERS = 64, MAX_BLOCK = 1 << 20, MAX_DATAGRAM = 65507, READS_PER_TURN = 16, CHUNK = 256 * 1024 };
enum mode { UDP_FANOUT, UDP_MULTICAST, TCP };
static const char *const mode_names[] = {"udp-fanout", "udp-multicast", "tcp"};
static const double WARM_UP = 0.3;

struct options {
    enum mode mode;
    int members, senders, size, buffer;
    double seconds;
    struct in_addr group, interface;
};

struct shared {
    atomic_int ready; /* members whose sockets are open and connected */
    double from, until;
    atomic_int started;
    struct { atomic_llong bytes; double cpu_seconds; } member[MAX_MEMBERS];
};

/* Sockets made before the fork, so that every member knows every address without an exchange. */
struct mesh {
    struct sockaddr_in unicast[MAX_MEMBERS], group;
    int socket[MAX_MEMBERS];  /* UDP: the member's own socket, also used to send; TCP: its listener */
    int listens[MAX_MEMBERS]; /* multicast: the socket that receives the group */
};

static struct options opt = {.members = 4, .senders = 1, .size = 60000, .seconds = 2, .buffer = 8 << 20};
static struct shared *shared;
static struct mesh mesh;
static char block[MAX_BLOCK], inbox[CHUNK];

static void fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fputs("raw: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(2);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int receives(int me) { return opt.senders > 1 || me >= opt.senders; }

/* ---- sockets ---- */

static void widen(int s) {
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &opt.buffer, sizeof opt.buffer))
        setsockopt(s, SOL_SOCKET, SO_RCVBUF, &opt.buffer, sizeof opt.buffer);
    if (setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &opt.buffer, sizeof opt.buffer))
        setsockopt(s, SOL_SOCKET, SO_SNDBUF, &opt.buffer, sizeof opt.buffer);
}

static int bound_socket(int type, struct sockaddr_in *at) {
    int s = socket(AF_INET, type, 0), on = 1;
    socklen_t length = sizeof *at;
    if (s < 0) fail("no socket: %s", strerror(errno));
    if (type == SOCK_DGRAM) widen(s); /* A TCP buffer of fixed size switches the kernel's own tuning off. */
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)at, sizeof *at)) fail("cannot bind %s: %s", inet_ntoa(at->sin_addr), strerror(errno));
    getsockname(s, (struct sockaddr *)at, &length);
    return s;
}

/* Own copies are dropped in the kernel, before they are queued: reading them would cost what a receiver costs. */
static void refuse_source_port(int s, in_port_t port) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), /* the UDP header begins with the source port */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(port), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    if (setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter)) fail("no filter: %s", strerror(errno));
}

static void join_group(int i) {
    struct ip_mreq membership = {.imr_multiaddr = opt.group, .imr_interface = opt.interface};
    if (setsockopt(mesh.socket[i], IPPROTO_IP, IP_MULTICAST_IF, &opt.interface, sizeof opt.interface))
        fail("cannot multicast on interface %s: %s", inet_ntoa(opt.interface), strerror(errno));
    if (!receives(i)) return;
    mesh.listens[i] = bound_socket(SOCK_DGRAM, &mesh.group);
    if (setsockopt(mesh.listens[i], IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership))
        fail("cannot join group %s: %s", inet_ntoa(opt.group), strerror(errno));
    refuse_source_port(mesh.listens[i], mesh.unicast[i].sin_port);
}

static void open_mesh(void) {
    mesh.group = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = opt.group};
    for (int i = 0; i < opt.members; i++) {
        mesh.unicast[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = opt.interface};
        mesh.socket[i] = bound_socket(opt.mode == TCP ? SOCK_STREAM : SOCK_DGRAM, &mesh.unicast[i]);
        if (opt.mode == TCP && listen(mesh.socket[i], MAX_MEMBERS)) fail("cannot listen: %s", strerror(errno));
    }
    if (opt.mode != UDP_MULTICAST) return;
    for (int i = opt.members - 1; i >= 0; i--) join_group(i); /* The first bind chose the port for all. */
}

/* ---- counting ---- */

static void count(int me, long bytes) {
    double t = now();
    if (t >= shared->from && t < shared->until)
        atomic_fetch_add_explicit(&shared->member[me].bytes, bytes, memory_order_relaxed);
}

static void wait_for_start(void) {
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->started)) usleep(1000);
}

/* ---- UDP ---- */

static int udp_send(int me, int flags) {
    int taken = 0;
    if (opt.mode == UDP_MULTICAST)
        return sendto(mesh.socket[me], block, opt.size, flags, (struct sockaddr *)&mesh.group, sizeof mesh.group) > 0;
    for (int i = 0; i < opt.members; i++)
        if (i != me && receives(i))
            taken |= sendto(mesh.socket[me], block, opt.size, flags, (struct sockaddr *)&mesh.unicast[i],
                            sizeof mesh.unicast[i]) > 0;
    return taken;
}

static int udp_receive(int me, int s, int flags) {
    ssize_t n = recv(s, inbox, sizeof inbox, flags);
    if (n > 0) count(me, n);
    return n > 0;
}

static void udp_both(int me, int s) {
    struct pollfd fds[] = {{s, POLLIN, 0}, {mesh.socket[me], POLLOUT, 0}};
    while (now() < shared->until) {
        int busy = 0;
        for (int i = 0; i < READS_PER_TURN && udp_receive(me, s, MSG_DONTWAIT); i++) busy = 1;
        busy |= udp_send(me, MSG_DONTWAIT);
        if (!busy) poll(fds, 2, 50);
    }
}

static void udp_member(int me) {
    int s = opt.mode == UDP_MULTICAST ? mesh.listens[me] : mesh.socket[me];
    struct timeval patience = {.tv_usec = 50000};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    wait_for_start();
    if (me < opt.senders && receives(me)) udp_both(me, s);
    while (now() < shared->until) {
        if (me < opt.senders) udp_send(me, 0);
        else udp_receive(me, s, 0);
    }
}

/* ---- TCP: one connection from each sender to each receiver ---- */

static int tcp_connect(const struct sockaddr_in *to) {
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(s, (const struct sockaddr *)to, sizeof *to)) fail("cannot connect: %s", strerror(errno));
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

static int tcp_accept(int listener) {
    int s = accept(listener, NULL, NULL);
    if (s < 0) fail("cannot accept: %s", strerror(errno));
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

/* A stream has no blocks: what a full socket did not take of one is finished at the next turn. */
static void tcp_write(int s, int *sent) {
    ssize_t n = send(s, block + *sent, opt.size - *sent, MSG_NOSIGNAL);
    if (n > 0) *sent = (*sent + n) % opt.size;
}

static void tcp_member(int me) {
    struct pollfd fds[2 * MAX_MEMBERS];
    int outgoing = 0, total, sent[MAX_MEMBERS] = {0};
    for (int i = 0; me < opt.senders && i < opt.members; i++)
        if (i != me && receives(i)) fds[outgoing++] = (struct pollfd){tcp_connect(&mesh.unicast[i]), POLLOUT, 0};
    total = outgoing;
    for (int i = 0; receives(me) && i < opt.senders; i++)
        if (i != me) fds[total++] = (struct pollfd){tcp_accept(mesh.socket[me]), POLLIN, 0};
    wait_for_start();
    while (now() < shared->until) {
        poll(fds, total, 50);
        for (int i = 0; i < total; i++) {
            if (!fds[i].revents) continue;
            if (i < outgoing) { tcp_write(fds[i].fd, &sent[i]); continue; }
            ssize_t n = recv(fds[i].fd, inbox, sizeof inbox, 0);
            if (n > 0) count(me, n);
        }
    }
}

/* ---- the run ---- */

static void member(int me) {
    struct rusage used;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    if (opt.mode == TCP) tcp_member(me); else udp_member(me);
    getrusage(RUSAGE_SELF, &used);
    shared->member[me].cpu_seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec
        + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    exit(0);
}

static void run(void) {
    int status, failed = 0;
    for (int i = 0; i < opt.members; i++) {
        pid_t child = fork();
        if (child < 0) fail("cannot fork: %s", strerror(errno));
        if (child == 0) member(i);
    }
    for (int waited = 0; atomic_load(&shared->ready) < opt.members; waited++) {
        if (waited > 10000) fail("members did not get ready within 10 s");
        usleep(1000);
    }
    shared->from = now() + WARM_UP;
    shared->until = shared->from + opt.seconds;
    atomic_store(&shared->started, 1);
    while (wait(&status) > 0) failed |= status;
    if (failed) fail("a member failed");
}

static void print_result(void) {
    const char *comma = "";
    printf("{\"mode\": \"%s\", \"members\": %d, \"senders\": %d, \"size\": %d, \"seconds\": %g, "
           "\"megabytes_per_second\": [", mode_names[opt.mode], opt.members, opt.senders, opt.size, opt.seconds);
    for (int i = 0; i < opt.members; i++) {
        if (!receives(i)) continue;
        printf("%s%.1f", comma, atomic_load(&shared->member[i].bytes) / opt.seconds / 1e6);
        comma = ", ";
    }
    printf("], \"cpu_seconds\": [");
    for (int i = 0; i < opt.members; i++) printf("%s%.2f", i ? ", " : "", shared->member[i].cpu_seconds);
    printf("]}\n");
}

/* ---- arguments ---- */

static int number(const char *name, const char *text, int low, int high) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < low || value > high) fail("%s must be %d to %d, not %s", name, low, high, text);
    return (int)value;
}

static void address(const char *name, const char *text, struct in_addr *out) {
    if (inet_pton(AF_INET, text, out) != 1) fail("%s must be an IPv4 address, not %s", name, text);
}

static void take(const char *name, const char *text) {
    if (!strcmp(name, "--mode")) {
        for (int m = UDP_FANOUT; m <= TCP; m++) if (!strcmp(text, mode_names[m])) { opt.mode = m; return; }
        fail("--mode must be udp-fanout, udp-multicast or tcp, not %s", text);
    } else if (!strcmp(name, "--members")) opt.members = number(name, text, 2, MAX_MEMBERS);
    else if (!strcmp(name, "--senders")) opt.senders = number(name, text, 1, MAX_MEMBERS);
    else if (!strcmp(name, "--size")) opt.size = number(name, text, 1, MAX_BLOCK);
    else if (!strcmp(name, "--buffer")) opt.buffer = number(name, text, 4096, 1 << 30);
    else if (!strcmp(name, "--seconds")) opt.seconds = atof(text);
    else if (!strcmp(name, "--group")) address(name, text, &opt.group);
    else if (!strcmp(name, "--interface")) address(name, text, &opt.interface);
    else fail("unknown option %s", name);
}

int main(int argc, char **argv) {
    address("--group", "239.1.1.1", &opt.group);
    address("--interface", "127.0.0.1", &opt.interface);
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) fail("%s needs a value", argv[i]);
        take(argv[i], argv[i + 1]);
    }
    if (opt.senders > opt.members) fail("--senders %d is more than --members %d", opt.senders, opt.members);
    if (opt.seconds <= 0 || opt.seconds > 3600) fail("--seconds must be above 0 and at most 3600");
    if (opt.mode != TCP && opt.size > MAX_DATAGRAM) fail("--size %d is more than a datagram holds (%d)", opt.size, MAX_DATAGRAM);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("no shared memory: %s", strerror(errno));
    open_mesh();
    run();
    print_result();
    return 0;
}
