// CrowdCurator.java - the process of a crowd that has Apache Curator; crowd.lua says which commands
// it obeys.
//
//   CrowdCurator PROXY SERVER      SERVER: where the server itself listens

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public final class CrowdCurator {
    private static final int SESSION_TIMEOUT = 30_000;
    private static final double PATIENCE = 120; // seconds

    /** Released by the thread that acquired it. */
    private interface Hold {
        void release() throws Exception;
    }

    private interface Lock {
        /** Null if it was not had within so many seconds. */
        Hold acquire(double seconds) throws Exception;
    }

    private interface Waiter {
        void run() throws Exception;
    }

    private final String proxy;
    private final String server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final double offset = Double.parseDouble(System.getProperty("clock.offset"));
    private final List<CuratorFramework> sessions = new ArrayList<>(); // 0: the first holder's
    private final List<Lock> locks = new ArrayList<>(); // of the sessions
    private final List<Future<?>> waiters = new ArrayList<>();
    private Hold held; // by the first holder
    private int laps;
    private final AtomicInteger served = new AtomicInteger(); // of a throng
    private final AtomicInteger timeouts = new AtomicInteger();
    private final AtomicInteger others = new AtomicInteger();
    private double last; // when the latest waiter was served, or gave up

    private CrowdCurator(String proxy, String server) throws Exception {
        this.proxy = proxy;
        this.server = server;
        open(0);
    }

    /** CLOCK_BOOTTIME, in seconds. */
    private double now() {
        return System.nanoTime() / 1e9 + offset;
    }

    // --- locks ---------------------------------------------------------------------------

    private static Lock mutex(InterProcessMutex mutex) {
        return seconds -> mutex.acquire((long) (seconds * 1000), TimeUnit.MILLISECONDS)
                ? mutex::release : null;
    }

    private static Lock semaphore(InterProcessSemaphoreV2 semaphore) {
        return seconds -> {
            Lease lease = semaphore.acquire((long) (seconds * 1000), TimeUnit.MILLISECONDS);
            return lease == null ? null : () -> semaphore.returnLease(lease);
        };
    }

    private static Lock lock(CuratorFramework client, String kind, String path) {
        switch (kind) {
            case "mutex": return mutex(new InterProcessMutex(client, path));
            case "write": return mutex(new InterProcessReadWriteLock(client, path).writeLock());
            case "semaphore": return semaphore(new InterProcessSemaphoreV2(client, path, 1));
            default: throw new IllegalArgumentException("no such lock: " + kind);
        }
    }

    private static CuratorFramework connect(String hosts, int timeout) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                hosts, timeout, 15_000, new RetryOneTime(1000));
        client.start();
        if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
            throw new IOException("no connection to " + hosts);
        }
        return client;
    }

    // --- waiters -------------------------------------------------------------------------

    private synchronized void ended() {
        last = now();
    }

    private void start(Waiter waiter) {
        waiters.add(threads.submit(() -> {
            waiter.run();
            ended();
            return null;
        }));
    }

    private void beServed(Lock lock) throws Exception {
        for (int i = 0; i < laps; i++) {
            lock.acquire(PATIENCE).release();
        }
    }

    private void giveUp(Lock lock, double deadline) throws Exception {
        if (lock.acquire(deadline - now()) != null) {
            throw new IllegalStateException("it was granted");
        }
    }

    /** How many ephemeral nodes the server has. A waiter that has made one has its place. */
    private int nodes() throws IOException {
        String[] address = server.split(":");
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            socket.getOutputStream().write("mntr".getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(),
                    StandardCharsets.US_ASCII);
            Matcher matcher = Pattern.compile("zk_ephemerals_count\\t(\\d+)").matcher(answer);
            if (!matcher.find()) {
                throw new IOException("no answer to mntr");
            }
            return Integer.parseInt(matcher.group(1));
        }
    }

    /** False if there are not so many in time. */
    private boolean awaitNodes(int count, double deadline) throws Exception {
        while (nodes() < count) {
            if (now() > deadline) {
                return false;
            }
            Thread.sleep(2);
        }
        return true;
    }

    // --- commands ------------------------------------------------------------------------

    private void open(int count) throws Exception {
        while (sessions.size() <= count) {
            sessions.add(connect(proxy, SESSION_TIMEOUT));
        }
    }

    private void line(String kind, String path, int count) {
        laps = count;
        locks.clear();
        sessions.forEach(client -> locks.add(lock(client, kind, path)));
    }

    private void join(int number) throws Exception {
        int before = nodes();
        start(() -> beServed(locks.get(number)));
        if (!awaitNodes(before + 1, now() + PATIENCE)) {
            throw new IllegalStateException("it made no node");
        }
    }

    private void crowd(int count, double deadline) throws Exception {
        int before = nodes();
        for (int i = 0; i < count; i++) {
            Lock lock = locks.get(i % (locks.size() - 1) + 1);
            start(() -> giveUp(lock, deadline));
        }
        awaitNodes(before + count, deadline);
    }

    /** So many that come at once. All have their places when the server has their nodes. */
    private void throng(int count, int all, double deadline) throws Exception {
        served.set(0);
        timeouts.set(0);
        others.set(0);
        for (int i = 0; i < count; i++) {
            Lock lock = locks.get(i % (locks.size() - 1) + 1);
            start(() -> beOneOfMany(lock, deadline));
        }
        if (!awaitNodes(all + 1, deadline > 0 ? deadline : now() + PATIENCE) && deadline == 0) {
            throw new IllegalStateException("they are not all in line");
        }
    }

    private void beOneOfMany(Lock lock, double deadline) {
        try {
            Hold hold = lock.acquire(deadline > 0 ? deadline - now() : PATIENCE);
            (hold == null ? timeouts : served).incrementAndGet();
            if (hold != null) {
                hold.release();
            }
        } catch (Exception e) {
            others.incrementAndGet();
        }
    }

    private String serve() throws Exception {
        for (Future<?> waiter : waiters) {
            waiter.get();
        }
        waiters.clear();
        return String.format(Locale.ROOT, "%.6f", last);
    }

    // --- for bench/peers.lua -------------------------------------------------------------

    private final Map<String, CuratorFramework> cyclers = new HashMap<>(); // by WHERE
    private final List<InterProcessMutex> kept = new ArrayList<>();
    private CuratorFramework spare; // of `connect`

    private CuratorFramework cycler(String where) throws Exception {
        if (!cyclers.containsKey(where)) {
            cyclers.put(where, connect(where.equals("proxy") ? proxy : server, SESSION_TIMEOUT));
        }
        return cyclers.get(where);
    }

    private static InterProcessMutex cycled(CuratorFramework client, String kind, String path) {
        return kind.equals("read") ? new InterProcessReadWriteLock(client, path).readLock()
                : new InterProcessMutex(client, path);
    }

    private static void cycle(InterProcessMutex mutex, boolean isTry, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            if (!isTry) {
                mutex.acquire();
                mutex.release();
            } else if (mutex.acquire(0, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("it was granted");
            }
        }
    }

    private static long processorTime() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private String cycles(CuratorFramework client, String kind, String path, int count, int tasks)
            throws Exception {
        InterProcessMutex own = cycled(client, kind, path);
        InterProcessMutex holder = kind.equals("try") || kind.equals("read")
                ? cycled(sessions.get(0), kind, path) : null;
        if (kind.equals("reentry")) {
            holder = own;
        }
        if (holder != null) {
            holder.acquire();
        }
        long cpu = processorTime();
        long begin = System.nanoTime();
        if (tasks == 1) {
            cycle(own, kind.equals("try"), count);
        } else {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < tasks; i++) {
                InterProcessMutex mutex = kind.equals("one") ? own
                        : cycled(client, kind, path + "/" + i);
                all.add(threads.submit(() -> {
                    cycle(mutex, false, count);
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
        long end = System.nanoTime();
        cpu = processorTime() - cpu;
        if (holder != null) {
            holder.release();
        }
        return String.format(Locale.ROOT, "%.6f %.6f", (end - begin) / 1e9, cpu / 1e9);
    }

    private void keep(String path, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            CuratorFramework client = sessions.get(i % (sessions.size() - 1) + 1);
            InterProcessMutex mutex = new InterProcessMutex(client, path + "/" + i);
            kept.add(mutex);
            mutex.acquire();
        }
    }

    /** Resident, but of the heap, which is resident as a whole (see world.lua), what is in use. */
    private static String memory() throws IOException {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        String status = Files.readString(Path.of("/proc/self/status"));
        Matcher matcher = Pattern.compile("VmRSS:\\s+(\\d+) kB").matcher(status);
        if (!matcher.find()) {
            throw new IOException("no VmRSS");
        }
        return String.valueOf(1024 * Long.parseLong(matcher.group(1)) - runtime.freeMemory());
    }

    private String waitFor(String path, double limit) {
        long begin = System.nanoTime();
        String what;
        try {
            boolean had = new InterProcessMutex(spare, path)
                    .acquire((long) (limit * 1000), TimeUnit.MILLISECONDS);
            what = had ? "granted" : "timeout";
        } catch (Exception e) {
            what = e.getClass().getSimpleName();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        threads.submit(spare::close);
        return String.format(Locale.ROOT, "%.6f %s", seconds, what);
    }

    // --- commands are lines --------------------------------------------------------------

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "open": open(Integer.parseInt(words[1])); return "";
            case "line": line(words[1], words[2], Integer.parseInt(words[3])); return "";
            case "hold": held = locks.get(0).acquire(PATIENCE); return "";
            case "join": join(Integer.parseInt(words[1])); return "";
            case "crowd":
                crowd(Integer.parseInt(words[1]), Double.parseDouble(words[2]));
                return "";
            case "throng":
                throng(Integer.parseInt(words[1]), Integer.parseInt(words[2]),
                        Double.parseDouble(words[3]));
                return "";
            case "tally": return served + " " + timeouts + " " + others;
            case "release": held.release(); return "";
            case "serve": return serve();
            case "cycles":
                return cycles(cycler(words[1]), words[2], words[3], Integer.parseInt(words[4]),
                        Integer.parseInt(words[5]));
            case "keep": keep(words[1], Integer.parseInt(words[2])); return "";
            case "memory": return memory();
            case "connect":
                spare = connect(server, (int) (1000 * Double.parseDouble(words[1])));
                return "";
            case "wait": return waitFor(words[1], Double.parseDouble(words[2]));
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    private void run() throws IOException {
        System.out.println("ready " + CuratorVersion.text());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null && !line.equals("quit");
                line = input.readLine()) {
            try {
                System.out.println("ok " + obey(line.split(" ")));
            } catch (Exception e) {
                System.out.println("error: " + e);
            }
        }
        sessions.forEach(CuratorFramework::close);
        cyclers.values().forEach(CuratorFramework::close);
        System.out.println("ok");
    }

    public static void main(String[] args) throws Exception {
        new CrowdCurator(args[0], args[1]).run();
        System.exit(0);
    }
}
