// Curator.java - Apache Curator as a neighbour; see neighbour.lua for the commands. More kinds:
// semaphore (of one permit), reentry.

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public final class Curator {
    static CuratorFramework connect(String hosts, int seconds) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                hosts, 1000 * seconds, 15_000, new RetryOneTime(1000));
        client.start();
        if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
            throw new IOException("no connection to " + hosts);
        }
        return client;
    }

    public static void main(String[] args) throws Exception {
        new Commands().run();
        System.exit(0);
    }
}

// --- locks ---------------------------------------------------------------------------------

/** Several threads may use a lock. Only the thread that acquired it may release it. */
interface Lock {
    double FOR_EVER = Double.POSITIVE_INFINITY;

    /** False if the lock was not acquired within this number of seconds. */
    boolean acquire(double limit) throws Exception;

    void release() throws Exception;

    /** The number of the node, if it is known. */
    default long token() throws Exception {
        return 0;
    }
}

final class Semaphore implements Lock {
    private final InterProcessSemaphoreV2 semaphore;
    private final Deque<Lease> leases = new ConcurrentLinkedDeque<>();

    Semaphore(CuratorFramework client, String path) {
        semaphore = new InterProcessSemaphoreV2(client, path, 1);
    }

    @Override
    public boolean acquire(double limit) throws Exception {
        Lease lease = semaphore.acquire((long) (limit * 1000), TimeUnit.MILLISECONDS);
        return lease != null && leases.add(lease);
    }

    @Override
    public void release() {
        semaphore.returnLease(leases.remove());
    }
}

/** A mutex, or one side of a read-write lock. */
final class Mutex implements Lock {
    private final CuratorFramework client;
    private InterProcessMutex mutex;
    private InterProcessMutex read; // of a writer

    /** The text "-" stands for Curator's own data. */
    Mutex(CuratorFramework client, String kind, String path, String text) {
        this.client = client;
        byte[] data = text.equals("-") ? null : text.getBytes(StandardCharsets.UTF_8);
        if (kind.equals("mutex")) {
            mutex = new InterProcessMutex(client, path) {
                @Override
                protected byte[] getLockNodeBytes() {
                    return data;
                }
            };
            return;
        }
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path, data);
        read = both.readLock();
        mutex = kind.equals("read") ? read : both.writeLock();
    }

    @Override
    public boolean acquire(double limit) throws Exception {
        return mutex.acquire((long) (limit * 1000), TimeUnit.MILLISECONDS);
    }

    @Override
    public void release() throws Exception {
        mutex.release();
    }

    /** Curator's way for a writer to become a reader. */
    void downgrade() throws Exception {
        read.acquire();
        mutex.release();
        mutex = read;
    }

    @Override
    public long token() throws Exception {
        Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        path.setAccessible(true); // only subclasses may call it
        return client.checkExists().forPath((String) path.invoke(mutex)).getCzxid();
    }
}

/** A candidate, which leads until end(). */
final class Candidate extends LeaderSelectorListenerAdapter {
    private final CountDownLatch leads = new CountDownLatch(1);
    private final CountDownLatch ends = new CountDownLatch(1);
    private final LeaderSelector selector;

    Candidate(CuratorFramework client, String path, String text) {
        selector = new LeaderSelector(client, path, this);
        selector.setId(text);
    }

    @Override
    public void takeLeadership(CuratorFramework client) throws Exception {
        leads.countDown();
        ends.await();
    }

    void lead() throws Exception {
        selector.start();
        leads.await();
    }

    void end() {
        ends.countDown();
        selector.close();
    }

    String leader() throws Exception {
        return selector.getLeader().getId();
    }
}

// --- one step at a time ------------------------------------------------------------------

/** A session and a thread, with one lock at a time. */
final class Hand {
    private final CuratorFramework client;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private volatile String state = "free";
    private final Map<String, Lock> shared = new HashMap<>(); // by kind and path, for tasks
    private final List<Lock> kept = new ArrayList<>();
    private Lock lock;
    private Candidate candidate;

    Hand(String hosts, int timeout) throws Exception {
        client = Curator.connect(hosts, timeout);
    }

    private Lock newLock(String kind, String path, String data) {
        return kind.equals("semaphore") ? new Semaphore(client, path)
                : new Mutex(client, kind, path, data);
    }

    Lock sharedLock(String kind, String path) {
        return shared.computeIfAbsent(kind + path, key -> newLock(kind, path, "-"));
    }

    private void acquire(double limit) {
        try {
            state = lock.acquire(limit) ? "held " + lock.token() : "timeout";
        } catch (Exception e) {
            state = "failed " + e;
        }
    }

    String take(String kind, String path, String limit, String data) {
        lock = newLock(kind, path, data);
        state = "waiting";
        thread.submit(() -> acquire(limit.equals("-") ? Lock.FOR_EVER : Double.parseDouble(limit)));
        return "";
    }

    /** Stands for election; "held" when it leads. */
    String elect(String path, String id) {
        candidate = new Candidate(client, path, id);
        state = "waiting";
        thread.submit(() -> {
            candidate.lead();
            state = "held";
            return null;
        });
        return "";
    }

    String leader() throws Exception {
        return candidate.leader();
    }

    String resign() {
        candidate.end();
        state = "free";
        return "";
    }

    private interface Step {
        void run() throws Exception;
    }

    private void step(Step step) throws Exception {
        thread.submit(() -> {
            step.run();
            return null;
        }).get();
    }

    String release() throws Exception {
        step(lock::release);
        state = "free";
        return "";
    }

    String downgrade() throws Exception {
        step(((Mutex) lock)::downgrade);
        return "";
    }

    String state() {
        return state;
    }

    String session() throws Exception {
        return Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId());
    }

    String keep(String path, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            kept.add(new Mutex(client, "mutex", path + "/" + i, "-"));
            kept.get(kept.size() - 1).acquire(Lock.FOR_EVER);
        }
        return "";
    }

    void close() {
        client.close();
    }
}

// --- tasks -------------------------------------------------------------------------------

/** The tasks of all hands, a thread each. */
final class Tasks {
    private static final OperatingSystemMXBean PROCESS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final double offset = Double.parseDouble(System.getProperty("clock.offset"));
    private final List<Future<Ended>> running = new ArrayList<>();
    private long cpu; // at the start of the first task

    /** The figures of a task that has ended. */
    private record Ended(double begin, double end, int grants, int timeouts, String problem) { }

    /** CLOCK_BOOTTIME, in seconds. */
    private double now() {
        return System.nanoTime() / 1e9 + offset;
    }

    private Ended cycle(Lock lock, boolean reenters, int laps, double deadline) {
        int grants = 0;
        int timeouts = 0;
        String problem = "";
        double begin = now();
        double end = begin;
        try {
            if (reenters) {
                lock.acquire(Lock.FOR_EVER);
            }
            begin = now();
            for (int i = 0; i < laps; i++) {
                if (lock.acquire(deadline > 0 ? Math.max(0, deadline - now()) : Lock.FOR_EVER)) {
                    lock.release();
                    grants++;
                } else {
                    timeouts++;
                }
            }
            end = now();
            if (reenters) {
                lock.release();
            }
        } catch (Exception e) {
            problem = e.getClass().getSimpleName();
            end = now();
        }
        return new Ended(begin, end, grants, timeouts, problem);
    }

    /** A task of the kind "reentry" holds the mutex meanwhile. */
    String start(Hand hand, String kind, String path, int laps, int count, double deadline) {
        boolean reenters = kind.equals("reentry");
        if (running.isEmpty()) {
            cpu = PROCESS.getProcessCpuTime();
        }
        for (int i = 0; i < count; i++) {
            Lock lock = hand.sharedLock(reenters ? "mutex" : kind, path.replace("#", "" + i));
            running.add(threads.submit(() -> cycle(lock, reenters, laps, deadline)));
        }
        return "";
    }

    String finish() throws Exception {
        double first = Double.MAX_VALUE;
        double last = 0;
        int grants = 0;
        int timeouts = 0;
        String problem = "";
        for (Future<Ended> task : running) {
            Ended ended = task.get();
            first = Math.min(first, ended.begin);
            last = Math.max(last, ended.end);
            grants += ended.grants;
            timeouts += ended.timeouts;
            problem = ended.problem.isEmpty() ? problem : ended.problem;
        }
        running.clear();
        return String.format(Locale.ROOT, "%.6f %.6f %.6f %d %d %s", Math.max(0, last - first),
                last, (PROCESS.getProcessCpuTime() - cpu) / 1e9, grants, timeouts, problem);
    }

    /** Returns the free bytes of the heap. */
    static String collect() {
        System.gc();
        return String.valueOf(Runtime.getRuntime().freeMemory());
    }
}

// --- commands are lines ------------------------------------------------------------------

final class Commands {
    private final Map<String, Hand> hands = new HashMap<>();
    private final Tasks tasks = new Tasks();

    private String connect(String name, String hosts, int timeout) throws Exception {
        hands.put(name, new Hand(hosts, timeout));
        return "";
    }

    private String drop(String name) {
        hands.remove(name).close();
        return "";
    }

    private String ofAll(String[] words) throws Exception {
        switch (words[0]) {
            case "connect": return connect(words[1], words[2], Integer.parseInt(words[3]));
            case "drop": return drop(words[1]);
            case "start": return tasks.start(hands.get(words[1]), words[2], words[3],
                    Integer.parseInt(words[4]), Integer.parseInt(words[5]),
                    Double.parseDouble(words[6]));
            case "finish": return tasks.finish();
            case "collect": return Tasks.collect();
            default: return ofHand(hands.get(words[1]), words);
        }
    }

    private static String ofHand(Hand hand, String[] words) throws Exception {
        switch (words[0]) {
            case "take": return hand.take(words[2], words[3], words[4], words[5]);
            case "state": return hand.state();
            case "release": return hand.release();
            case "keep": return hand.keep(words[2], Integer.parseInt(words[3]));
            case "downgrade": return hand.downgrade();
            case "session": return hand.session();
            case "elect": return hand.elect(words[2], words[3]);
            case "leader": return hand.leader();
            case "resign": return hand.resign();
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    void run() throws IOException {
        System.out.println("ready " + ProcessHandle.current().pid() + " "
                + CuratorVersion.text());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null && !line.equals("quit");
                line = input.readLine()) {
            try {
                System.out.println("ok " + ofAll(line.split(" ")));
            } catch (Exception e) {
                System.out.println("error: " + e);
            }
        }
        hands.values().forEach(Hand::close);
        System.out.println("ok");
    }
}
