// CuratorVersion.java - the versions of Curator and of its ZooKeeper client.

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Version;

final class CuratorVersion {
    private static final String FILE =
            "/META-INF/maven/org.apache.curator/curator-framework/pom.properties";

    private CuratorVersion() { }

    static String text() throws IOException {
        Properties maven = new Properties();
        try (InputStream file = CuratorFramework.class.getResourceAsStream(FILE)) {
            maven.load(file);
        }
        return maven.getProperty("version") + " with ZooKeeper " + Version.getVersion();
    }
}
