// What node's clients do through a proxy: node node.js CLIENT PORT [setup], beside their modules.
const [what, port, setup] = [process.argv[2], Number(process.argv[3]), process.argv[4] === "setup"];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
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

async function typeorm() {
  const { DataSource, EntitySchema } = require("typeorm");
  const Account = new EntitySchema({ name: "accounts", columns: { id: { type: "int", primary: true },
    owner: { type: "text", nullable: true }, balance: { type: "numeric", precision: 12, scale: 2 } } });
  const Note = new EntitySchema({ name: "notes", columns: { id: { type: "int", primary: true, generated: "increment" },
    text: { type: "text", nullable: true }, day: { type: "date", nullable: true } } });
  const source = new DataSource({ type: "postgres", ...at, username: "postgres", entities: [Account, Note] });
  await source.initialize();
  const work = async () => {
    for (let n = 0; n < 30; n++) {
      await source.transaction(async (manager) => {
        const account = await manager.findOne(Account, { where: { id: (n % 5) + 1 }, lock: { mode: "pessimistic_write" } });
        account.balance = Number(account.balance) + 1;
        await manager.save(Account, account);
      });
    }
  };
  await Promise.all([work(), work(), work()]);
  const notes = source.getRepository(Note);
  const kept = await notes.save([{ text: "it's" }, { text: "b", day: "2020-01-31" }]);
  await notes.update({ id: kept[0].id }, { text: "c" });
  await notes.remove(kept[1]);
  await notes.findAndCount({ where: { text: "c" }, order: { id: "DESC" }, take: 3 });
  await source.getRepository(Account).createQueryBuilder("a").select("SUM(a.balance)", "sum").getRawOne();
  await source.destroy();
}

async function prisma() {
  const { PrismaClient } = require("@prisma/client");
  const { PrismaPg } = require("@prisma/adapter-pg");
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: `postgresql://postgres@127.0.0.1:${port}/shop` }) });
  for (let n = 0; n < 30; n++) {
    const id = (n % 5) + 1;
    await db.$transaction(async (open) => {
      const account = await open.accounts.findUnique({ where: { id } });
      await open.accounts.update({ where: { id }, data: { balance: account.balance.plus(1) } });
    });
    await db.accounts.update({ where: { id }, data: { balance: { increment: 1 } } });
  }
  await db.notes.createMany({ data: [{ text: "it's" }, { text: "b", day: new Date("2020-01-31") }] });
  await db.notes.findMany({ where: { text: { startsWith: "b" } }, orderBy: { id: "desc" }, take: 2 });
  await db.accounts.aggregate({ _sum: { balance: true }, _count: true });
  await db.$transaction([db.notes.create({ data: { text: "d" } }), db.notes.deleteMany({ where: { text: "b" } })]);
  await db.$disconnect();
}

async function graphile() {
  const { run, runMigrations, makeWorkerUtils } = require("graphile-worker");
  const connectionString = `postgres://postgres@127.0.0.1:${port}/shop`;
  if (setup) return runMigrations({ connectionString });
  const utils = await makeWorkerUtils({ connectionString });
  for (let n = 0; n < 20; n++) await utils.addJob("note", { n }, n % 3 ? {} : { jobKey: `key${n}` });
  let left = 20;
  const runner = await run({ connectionString, concurrency: 2, noHandleSignals: true, pollInterval: 100, taskList: {
    note: async ({ n }, helpers) => {
      await helpers.query("INSERT INTO notes (text) VALUES ($1)", [`job ${n}`]);
      left -= 1;
    } } });
  while (left > 0) await sleep(50);
  await sleep(200);
  await runner.stop();
  await utils.release();
}

async function pgboss() {
  const PgBoss = require("pg-boss");
  const boss = new PgBoss({ connectionString: `postgres://postgres@127.0.0.1:${port}/shop` });
  await boss.start();
  if (setup) await boss.createQueue("notes");
  else {
    for (let n = 0; n < 10; n++) await boss.send("notes", { n });
    let left = 10;
    await boss.work("notes", { batchSize: 2, pollingIntervalSeconds: 0.5 }, async (jobs) => { left -= jobs.length; });
    while (left > 0) await sleep(50);
    await sleep(200);
  }
  await boss.stop({ graceful: true, wait: true });
}

async function mysql2() {
  const db = require("mysql2/promise").createPool({ ...at, user: "root", connectionLimit: 3 });
  const work = async () => {
    for (let n = 0; n < 40; n++) {
      const open = await db.getConnection();
      await open.beginTransaction();
      const [[row]] = await open.execute("SELECT balance FROM accounts WHERE id = ? FOR UPDATE", [(n % 5) + 1]);
      await open.query("UPDATE accounts SET balance = ? WHERE id = ?", [Number(row.balance) + 1, (n % 5) + 1]);
      await (n % 7 ? open.commit() : open.rollback());
      open.release();
    }
  };
  await Promise.all([work(), work(), work()]);
  await db.query("INSERT INTO notes (text, day) VALUES ?", [[["it's", "2020-01-31"], ["b", null]]]);
  await db.query("SELECT COUNT(*) AS count FROM notes");
  await db.end();
}

async function mariadb() {
  const db = require("mariadb").createPool({ ...at, user: "root", connectionLimit: 3 });
  const work = async () => {
    for (let n = 0; n < 40; n++) {
      const open = await db.getConnection();
      await open.beginTransaction();
      const [row] = await open.execute("SELECT balance FROM accounts WHERE id = ? FOR UPDATE", [(n % 5) + 1]);
      await open.query("UPDATE accounts SET balance = ? WHERE id = ?", [Number(row.balance) + 1, (n % 5) + 1]);
      await (n % 7 ? open.commit() : open.rollback());
      await open.release();
    }
  };
  await Promise.all([work(), work(), work()]);
  await db.batch("INSERT INTO notes (text, day) VALUES (?, ?)", [["it's", "2020-01-31"], ["b", null]]);
  await db.query("SELECT COUNT(*) AS count FROM notes");
  await db.end();
}

({ pg, knex, sequelize, typeorm, prisma, graphile, pgboss, mysql2, mariadb })[what]().catch((error) => { console.error(error); process.exit(1); });
