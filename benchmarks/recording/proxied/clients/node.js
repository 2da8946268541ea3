// What node's clients do through a proxy: node node.js pg|knex|sequelize PORT, beside their modules.
const [what, port] = [process.argv[2], Number(process.argv[3])];
const at = { host: "127.0.0.1", port, user: "postgres", database: "shop" };

async function pg() {
  const { Pool } = require("pg");
  const pool = new Pool({ ...at, max: 3 });
  const work = async (seed) => {
    for (let n = 0; n < 60; n++) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN ISOLATION LEVEL " + ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"][(n + seed) % 3]);
        const { rows } = await client.query({ name: "get", text: "SELECT balance FROM accounts WHERE id = $1", values: [(n % 5) + 1] });
        await client.query("UPDATE accounts SET balance = $1 WHERE id = $2", [Number(rows[0].balance) + 1, (n % 5) + 1]);
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK");
      } finally {
        client.release();
      }
    }
  };
  await Promise.all([0, 1, 2].map(work));
  await pool.query("INSERT INTO notes (text, day) VALUES ($1, $2)", ["node", "2020-01-31"]);
  await pool.end();
}

async function knex() {
  const db = require("knex")({ client: "pg", connection: at, pool: { min: 1, max: 3 } });
  const work = async () => {
    for (let n = 0; n < 40; n++) {
      await db.transaction(async (trx) => {
        const [row] = await trx("accounts").where({ id: (n % 5) + 1 }).select("balance").forUpdate();
        await trx("accounts").where({ id: (n % 5) + 1 }).update({ balance: Number(row.balance) + 1 });
      });
    }
  };
  await Promise.all([work(), work(), work()]);
  await db("notes").insert([{ text: "k1" }, { text: "k2" }]).returning("id");
  await db.destroy();
}

async function sequelize() {
  const { Sequelize, DataTypes } = require("sequelize");
  const db = new Sequelize("shop", "postgres", "", { ...at, dialect: "postgres", logging: false });
  const Account = db.define("account", { id: { type: DataTypes.INTEGER, primaryKey: true }, owner: DataTypes.TEXT,
    balance: DataTypes.DECIMAL(12, 2) }, { timestamps: false, tableName: "accounts" });
  for (let n = 0; n < 40; n++) {
    await db.transaction(async (transaction) => {
      const account = await Account.findByPk((n % 5) + 1, { transaction, lock: true });
      account.balance = Number(account.balance) + 1;
      await account.save({ transaction });
    });
  }
  console.log(await Account.count());
  await db.close();
}

({ pg, knex, sequelize })[what]().catch((error) => { console.error(error); process.exit(1); });
