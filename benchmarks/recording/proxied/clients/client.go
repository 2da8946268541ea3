// What Go's database/sql does through a proxy: client postgres|mysql PORT.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func work(db *sql.DB, get, put string, seed int) {
	levels := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	for n := 0; n < 40; n++ {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: levels[(n/10+seed)%3]})
		must(err)
		var balance string
		if err = tx.QueryRow(get, n%5+1).Scan(&balance); err == nil {
			_, err = tx.Exec(put, 1, n%5+1)
		}
		if err != nil || n%7 == 0 {
			_ = tx.Rollback()
		} else {
			_ = tx.Commit()
		}
	}
}

func main() {
	product, port := os.Args[1], os.Args[2]
	dsn := "host=127.0.0.1 port=" + port + " user=postgres dbname=shop sslmode=disable"
	get, put := "SELECT balance FROM accounts WHERE id = $1", "UPDATE accounts SET balance = balance + $1 WHERE id = $2"
	insert := "INSERT INTO notes (text, day) VALUES ($1, $2)"
	if product == "mysql" {
		dsn = "root@tcp(127.0.0.1:" + port + ")/shop?parseTime=true"
		get, put = "SELECT balance FROM accounts WHERE id = ?", "UPDATE accounts SET balance = balance + ? WHERE id = ?"
		insert = "INSERT INTO notes (text, day) VALUES (?, ?)"
	}
	db, err := sql.Open(product, dsn)
	must(err)
	db.SetMaxOpenConns(4)
	var all sync.WaitGroup
	for seed := 0; seed < 3; seed++ {
		all.Add(1)
		go func(seed int) { defer all.Done(); work(db, get, put, seed) }(seed)
	}
	all.Wait()
	statement, err := db.Prepare(insert)
	must(err)
	for n := 0; n < 5; n++ {
		_, err = statement.Exec(fmt.Sprintf("go %d", n), "2020-01-31")
		must(err)
	}
	var count int
	must(db.QueryRow("SELECT COUNT(*) FROM notes").Scan(&count))
	must(db.Close())
}
