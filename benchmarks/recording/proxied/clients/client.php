<?php
// What PHP's extensions do through a proxy: php client.php pgsql|pdo_pgsql|mysqli|pdo_mysql PORT.
[, $what, $port] = $argv;

function pdo(PDO $db): void
{
    $db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
    foreach ([true, false] as $emulated) {
        $db->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
        for ($n = 0; $n < 30; $n++) {
            $db->beginTransaction();
            $get = $db->prepare('SELECT balance FROM accounts WHERE id = ? FOR UPDATE');
            $get->execute([$n % 5 + 1]);
            $balance = $get->fetchColumn();
            $get->closeCursor();
            $db->prepare('UPDATE accounts SET balance = :balance WHERE id = :id')->execute(['balance' => $balance + 1, 'id' => $n % 5 + 1]);
            $n % 7 ? $db->commit() : $db->rollBack();
        }
    }
    $db->prepare('INSERT INTO notes (text, day) VALUES (?, ?)')->execute(["it's", '2020-01-31']);
    $db->query('SELECT COUNT(*) FROM notes')->fetchAll();
    try {
        $db->exec("INSERT INTO accounts VALUES (1, 'again', 0)");
    } catch (PDOException $refused) {
    }
}

switch ($what) {
    case 'pdo_pgsql':
        pdo(new PDO("pgsql:host=127.0.0.1;port=$port;dbname=shop", 'postgres'));
        break;
    case 'pdo_mysql':
        pdo(new PDO("mysql:host=127.0.0.1;port=$port;dbname=shop;charset=utf8mb4", 'root'));
        break;
    case 'pgsql':
        $db = pg_connect("host=127.0.0.1 port=$port user=postgres dbname=shop");
        pg_prepare($db, 'get', 'SELECT balance FROM accounts WHERE id = $1 FOR UPDATE');
        for ($n = 0; $n < 40; $n++) {
            pg_query($db, 'BEGIN');
            $row = pg_fetch_row(pg_execute($db, 'get', [$n % 5 + 1]));
            pg_query_params($db, 'UPDATE accounts SET balance = $1 WHERE id = $2', [$row[0] + 1, $n % 5 + 1]);
            pg_query($db, $n % 7 ? 'COMMIT' : 'ROLLBACK');
        }
        pg_insert($db, 'notes', ['text' => "it's", 'day' => '2020-01-31']);
        pg_update($db, 'accounts', ['owner' => 'x'], ['id' => 2]);
        pg_copy_from($db, 'notes', ["101\tone\t2020-01-31\n", "102\ttwo\t\\N\n"]);
        pg_query($db, "UPDATE accounts SET owner = 'a' WHERE id = 1; SELECT COUNT(*) FROM notes");
        pg_close($db);
        break;
    case 'mysqli':
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $db = new mysqli('127.0.0.1', 'root', '', 'shop', (int) $port);
        $db->set_charset('utf8mb4');
        for ($n = 0; $n < 40; $n++) {
            $db->begin_transaction();
            $get = $db->prepare('SELECT balance FROM accounts WHERE id = ? FOR UPDATE');
            $id = $n % 5 + 1;
            $get->bind_param('i', $id);
            $get->execute();
            [$balance] = $get->get_result()->fetch_row();
            $put = $db->prepare('UPDATE accounts SET balance = ? WHERE id = ?');
            $new = $balance + 1;
            $put->bind_param('di', $new, $id);
            $put->execute();
            $n % 7 ? $db->commit() : $db->rollback();
        }
        $db->query("INSERT INTO notes (text, day) VALUES ('" . $db->real_escape_string("it's") . "', '2020-01-31')");
        $db->multi_query("UPDATE accounts SET owner = 'a' WHERE id = 1; SELECT COUNT(*) FROM notes; DELETE FROM notes WHERE id = 77");
        do {
            $result = $db->store_result();
        } while ($db->more_results() && $db->next_result());
        $db->close();
        break;
}
