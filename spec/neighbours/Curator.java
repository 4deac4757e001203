// Curator.java - Apache Curator as a neighbour; see neighbour.lua for the commands.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

public final class Curator {
    static final int SESSION_TIMEOUT = 20_000;

    static CuratorFramework connect(String hosts) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                hosts, SESSION_TIMEOUT, 15_000, new RetryOneTime(1000));
        client.start();
        if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
            throw new IOException("no connection to " + hosts);
        }
        return client;
    }

    public static void main(String[] args) throws Exception {
        new Commands(args[0]).run();
        System.exit(0);
    }
}

// --- locks ---------------------------------------------------------------------------------

/** A lock of any kind, with the data of its node. Only the thread that acquired it may release. */
final class Lock {
    private final CuratorFramework client;
    private InterProcessMutex mutex;
    private InterProcessMutex read; // of a writer

    Lock(CuratorFramework client, String kind, String path, String text) {
        this.client = client;
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
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

    /** False if the lock was not acquired within this number of seconds; null waits for ever. */
    boolean acquire(Double limit) throws Exception {
        if (limit != null) {
            return mutex.acquire((long) (limit * 1000), TimeUnit.MILLISECONDS);
        }
        mutex.acquire();
        return true;
    }

    void release() throws Exception {
        mutex.release();
    }

    /** Curator's way for a writer to become a reader. */
    void downgrade() throws Exception {
        read.acquire();
        mutex.release();
        mutex = read;
    }

    long token() throws Exception {
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
    private Lock lock;
    private Candidate candidate;

    Hand(String hosts) throws Exception {
        client = Curator.connect(hosts);
    }

    private void acquire(Double limit) {
        try {
            state = lock.acquire(limit) ? "held " + lock.token() : "timeout";
        } catch (Exception e) {
            state = "failed " + e;
        }
    }

    String take(String kind, String path, String limit, String data) {
        lock = new Lock(client, kind, path, data);
        state = "waiting";
        thread.submit(() -> acquire(limit.equals("-") ? null : Double.valueOf(limit)));
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
        step(lock::downgrade);
        return "";
    }

    String state() {
        return state;
    }

    String session() throws Exception {
        return Long.toHexString(client.getZookeeperClient().getZooKeeper().getSessionId());
    }

    void close() {
        client.close();
    }
}

final class Commands {
    private final String hosts;
    private final Map<String, Hand> hands = new HashMap<>();

    Commands(String hosts) {
        this.hosts = hosts;
    }

    private String carryOut(String[] words) throws Exception {
        if (words[0].equals("drop")) {
            hands.remove(words[1]).close();
            return "";
        }
        if (!hands.containsKey(words[1])) {
            hands.put(words[1], new Hand(hosts));
        }
        Hand hand = hands.get(words[1]);
        switch (words[0]) {
            case "take": return hand.take(words[2], words[3], words[4], words[5]);
            case "state": return hand.state();
            case "release": return hand.release();
            case "downgrade": return hand.downgrade();
            case "session": return hand.session();
            case "elect": return hand.elect(words[2], words[3]);
            case "leader": return hand.leader();
            case "resign": return hand.resign();
            default: throw new IllegalArgumentException("unknown command");
        }
    }

    void run() throws IOException {
        System.out.println("ready " + CuratorVersion.text());
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null && !line.equals("quit");
                line = input.readLine()) {
            try {
                System.out.println("ok " + carryOut(line.split(" ")));
            } catch (Exception e) {
                System.out.println("error: " + e);
            }
        }
        hands.values().forEach(Hand::close);
        System.out.println("ok");
    }
}
