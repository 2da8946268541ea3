# What Ruby does through a proxy: ruby client.rb pg|activerecord|mysql2|activerecord-mysql PORT.
what, port = ARGV[0], ARGV[1].to_i

def records(adapter, port, user)
  require "active_record"
  ActiveRecord::Base.establish_connection(adapter: adapter, host: "127.0.0.1", port: port, username: user, database: "shop", pool: 4)
  Object.const_set(:Account, Class.new(ActiveRecord::Base) { self.table_name = "accounts" })
  Object.const_set(:Note, Class.new(ActiveRecord::Base) { self.table_name = "notes" })
  threads = 3.times.map do |seed|
    Thread.new do
      30.times do |n|
        Account.transaction do
          account = Account.lock.find(n % 5 + 1)
          account.update!(balance: account.balance + 1)
          raise ActiveRecord::Rollback if n % 7 == seed
        end
      end
      ActiveRecord::Base.connection_pool.release_connection
    end
  end
  threads.each(&:join)
  Account.transaction do
    Note.create!(text: "it's", day: Date.new(2020, 1, 31))
    Account.transaction(requires_new: true) do
      Account.where(id: 3).update_all("balance = balance + 1")
      raise ActiveRecord::Rollback
    end
  end
  Note.insert_all([{ text: "a" }, { text: "b" }])
  Account.order(:id).limit(3).pluck(:owner, :balance)
  Note.where("text LIKE ?", "a%").count
  begin
    Account.create!(id: 1, owner: "again", balance: 0)
  rescue ActiveRecord::RecordNotUnique
  end
end

case what
when "activerecord" then records("postgresql", port, "postgres")
when "activerecord-mysql" then records("mysql2", port, "root")
when "pg"
  require "pg"
  db = PG.connect(host: "127.0.0.1", port: port, user: "postgres", dbname: "shop")
  db.prepare("get", "SELECT balance FROM accounts WHERE id = $1")
  40.times do |n|
    db.transaction do |open|
      balance = open.exec_prepared("get", [n % 5 + 1]).getvalue(0, 0).to_f
      open.exec_params("UPDATE accounts SET balance = $1 WHERE id = $2", [balance + 1, n % 5 + 1])
    end
  end
  db.copy_data("COPY notes (text) FROM STDIN") { db.put_copy_data("one\ntwo\n") }
  db.exec("INSERT INTO notes (text) VALUES ('x'); SELECT COUNT(*) FROM notes")
  db.close
when "mysql2"
  require "mysql2"
  db = Mysql2::Client.new(host: "127.0.0.1", port: port, username: "root", database: "shop")
  get = db.prepare("SELECT balance FROM accounts WHERE id = ? FOR UPDATE")
  40.times do |n|
    db.query("BEGIN")
    balance = get.execute(n % 5 + 1).first["balance"]
    db.query("UPDATE accounts SET balance = #{(balance + 1).to_s("F")} WHERE id = #{n % 5 + 1}")
    db.query(n % 7 == 0 ? "ROLLBACK" : "COMMIT")
  end
  db.query("INSERT INTO notes (text, day) VALUES ('#{db.escape("it's")}', '2020-01-31')")
  db.close
end
