import java.math.BigDecimal;
import java.sql.*;

/** What a JVM does through a proxy: java -cp DRIVER Jdbc.java URL. */
public class Jdbc {
    static String url;

    static void work(int seed) throws SQLException {
        int[] levels = {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE};
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            for (int n = 0; n < 60; n++) {
                try {
                    if (n % 20 == 0) { connection.rollback(); connection.setTransactionIsolation(levels[(n / 20 + seed) % 3]); }
                    try (PreparedStatement get = connection.prepareStatement("SELECT balance FROM accounts WHERE id = ?");
                         PreparedStatement put = connection.prepareStatement("UPDATE accounts SET balance = ? WHERE id = ?")) {
                        get.setInt(1, n % 5 + 1);
                        ResultSet rows = get.executeQuery();
                        rows.next();
                        BigDecimal balance = rows.getBigDecimal(1);
                        put.setBigDecimal(1, balance.add(BigDecimal.ONE));
                        put.setInt(2, n % 5 + 1);
                        put.executeUpdate();
                    }
                    connection.commit();
                } catch (SQLException refused) { connection.rollback(); }
            }
            try (PreparedStatement batch = connection.prepareStatement("INSERT INTO notes (text) VALUES (?)")) {
                for (int n = 0; n < 10; n++) { batch.setString(1, "j" + n); batch.addBatch(); }
                batch.executeBatch();
            }
            connection.commit();
            try (Statement some = connection.createStatement()) {
                some.setFetchSize(4);
                ResultSet rows = some.executeQuery("SELECT id FROM notes ORDER BY id");
                while (rows.next()) { rows.getInt(1); }
            }
            connection.commit();
        }
    }

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        Thread[] threads = new Thread[3];
        for (int n = 0; n < 3; n++) {
            int seed = n;
            threads[n] = new Thread(() -> { try { work(seed); } catch (SQLException error) { throw new RuntimeException(error); } });
            threads[n].start();
        }
        for (Thread thread : threads) { thread.join(); }
    }
}
