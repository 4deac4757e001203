// CrowdCurator.java - the process of a crowd that has Apache Curator; bench/harness/crowd.lua says
// which commands it obeys.
//
//   CrowdCurator PROXY SERVER

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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
        /** Null if the lock was not granted within that many seconds. */
        Hold acquire(double seconds) throws Exception;
    }

    private final String proxy;
    private final String server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final double offset = Double.parseDouble(System.getProperty("clock.offset"));
    private final List<CuratorFramework> sessions = new ArrayList<>(); // 0: the first holder's
    private final List<Lock> locks = new ArrayList<>(); // of the sessions
    private final List<Future<?>> tasks = new ArrayList<>(); // still to be waited for
    private final Map<String, CuratorFramework> cyclers = new HashMap<>(); // by WHERE
    private final List<InterProcessMutex> kept = new ArrayList<>();
    private CuratorFramework spare; // of `connect`
    private Hold held; // by the first holder
    private int laps;
    private int served;
    private int timeouts;
    private int others;
    private double last; // time when the latest waiter ended

    private CrowdCurator(String proxy, String server) throws Exception {
        this.proxy = proxy;
        this.server = server;
        open(0);
    }

    /** CLOCK_BOOTTIME, in seconds. */
    private double now() {
        return System.nanoTime() / 1e9 + offset;
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
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

    private void start(Callable<Void> task) {
        tasks.add(threads.submit(task));
    }

    private void awaitTasks() throws Exception {
        for (Future<?> task : tasks) {
            task.get();
        }
        tasks.clear();
    }

    // --- a line --------------------------------------------------------------------------

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

    /** Curator has no turns, kept locks or combining; a mutex takes their place. */
    private static Lock lock(CuratorFramework client, String kind, String path) {
        switch (kind) {
            case "read": return mutex(new InterProcessReadWriteLock(client, path).readLock());
            case "write": return mutex(new InterProcessReadWriteLock(client, path).writeLock());
            case "semaphore": return semaphore(new InterProcessSemaphoreV2(client, path, 1));
            default: return mutex(new InterProcessMutex(client, path));
        }
    }

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

    private CuratorFramework sessionOf(int waiter) {
        return sessions.get(waiter % (sessions.size() - 1) + 1);
    }

    private synchronized void noteEnd(boolean wasServed, boolean hadTimeout) {
        served += wasServed ? 1 : 0;
        timeouts += hadTimeout ? 1 : 0;
        others += wasServed || hadTimeout ? 0 : 1;
        last = now();
    }

    private Void waitInLine(Lock lock, double deadline) {
        try {
            Hold hold = null;
            for (int i = 0; i < laps; i++) {
                hold = lock.acquire(deadline > 0 ? deadline - now() : PATIENCE);
                if (hold == null) {
                    break;
                }
                hold.release();
            }
            noteEnd(hold != null, hold == null);
        } catch (Exception e) {
            noteEnd(false, false);
        }
        return null;
    }

    private void join(int first, int count, double deadline) {
        for (int i = 0; i < count; i++) {
            Lock lock = locks.get((first + i - 1) % (locks.size() - 1) + 1);
            start(() -> waitInLine(lock, deadline));
        }
    }

    private String serve() throws Exception {
        awaitTasks();
        String answer = text("%.6f %d %d %d", last, served, timeouts, others);
        served = timeouts = others = 0;
        return answer;
    }

    // --- cycles --------------------------------------------------------------------------

    private CuratorFramework cycler(String where) throws Exception {
        if (!cyclers.containsKey(where)) {
            cyclers.put(where, connect(where.equals("proxy") ? proxy : server, SESSION_TIMEOUT));
        }
        return cyclers.get(where);
    }

    private static Void cycle(Lock lock, boolean isTry, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            Hold hold = lock.acquire(isTry ? 0 : PATIENCE);
            if ((hold == null) != isTry) {
                throw new IllegalStateException(isTry ? "it was granted" : "a timeout");
            }
            if (hold != null) {
                hold.release();
            }
        }
        return null;
    }

    private static long processorTime() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    private String cycles(CuratorFramework client, String kind, String path, int count, int width)
            throws Exception {
        boolean isTry = kind.equals("try");
        boolean isOne = kind.equals("turns") || kind.equals("combined");
        Lock own = lock(client, kind, path);
        Lock holder = kind.equals("reentry") ? own
                : isTry || kind.equals("read") ? lock(sessions.get(0), kind, path) : null;
        Hold hold = holder == null ? null : holder.acquire(PATIENCE);
        long cpu = processorTime();
        long begin = System.nanoTime();
        if (width == 1) {
            cycle(own, isTry, count);
        } else {
            for (int i = 0; i < width; i++) {
                Lock lock = isOne ? own : lock(client, kind, path + "/" + i);
                start(() -> cycle(lock, isTry, count));
            }
            awaitTasks();
        }
        long end = System.nanoTime();
        cpu = processorTime() - cpu;
        if (hold != null) {
            hold.release();
        }
        return text("%.6f %.6f", (end - begin) / 1e9, cpu / 1e9);
    }

    // --- memory, outages -----------------------------------------------------------------

    private void keep(String path, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            kept.add(new InterProcessMutex(sessionOf(i), path + "/" + i));
            kept.get(kept.size() - 1).acquire();
        }
    }

    /** The heap is resident as a whole (bench/measures/memory.lua). */
    private static String collect() {
        System.gc();
        return String.valueOf(Runtime.getRuntime().freeMemory());
    }

    private String waitFor(String path, double limit) {
        double begin = now();
        String what;
        try {
            Lock lock = mutex(new InterProcessMutex(spare, path));
            what = lock.acquire(limit) != null ? "granted" : "timeout";
        } catch (Exception e) {
            what = e.getClass().getSimpleName();
        }
        double seconds = now() - begin;
        threads.submit(spare::close);
        return text("%.6f %s", seconds, what);
    }

    // --- commands are lines --------------------------------------------------------------

    private String obey(String[] words) throws Exception {
        int[] integers = new int[words.length];
        double[] numbers = new double[words.length];
        for (int i = 1; i < words.length; i++) {
            if (words[i].matches("[0-9.]+")) {
                numbers[i] = Double.parseDouble(words[i]);
                integers[i] = (int) numbers[i];
            }
        }
        switch (words[0]) {
            case "open": open(integers[1]); return "";
            case "line": line(words[1], words[2], integers[3]); return "";
            case "hold": held = locks.get(0).acquire(PATIENCE); return "";
            case "join": join(integers[1], integers[2], numbers[3]); return "";
            case "release": held.release(); return "";
            case "serve": return serve();
            case "cycles":
                return cycles(cycler(words[1]), words[2], words[3], integers[4], integers[5]);
            case "keep": keep(words[1], integers[2]); return "";
            case "collect": return collect();
            case "connect": spare = connect(server, (int) (1000 * numbers[1])); return "";
            case "wait": return waitFor(words[1], numbers[2]);
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    private void run() throws IOException {
        System.out.println("ready " + ProcessHandle.current().pid() + " " + CuratorVersion.text());
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
