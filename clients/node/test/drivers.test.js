// Real databases, with both drivers, as single connections and as pools.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import mariadb from 'mariadb'
import mariadbBefore from 'mariadb-3.4'
import mysqlCallback from 'mysql2'
import mysql from 'mysql2/promise'
import { connect } from 'ramaria'

const rounds = 100
const killed = /^Ramaria ended this connection at a reset, since it had a transaction open; roll back or commit/

const options = ({ host, port, user, password, database }) => ({ host, port, user, password, database, connectionLimit: 3, allowPublicKeyRetrieval: true })
const forMySQL2 = ({ url }) => ({ uri: url, connectionLimit: 3 })
const drivers = {
  'mysql2 pool': (db) => mysql.createPool(forMySQL2(db)),
  'mysql2 connection': (db) => mysql.createConnection(forMySQL2(db)),
  'mysql2 pool with callbacks': (db) => mysqlCallback.createPool(forMySQL2(db)),
  'mariadb pool': (db) => mariadb.createPool(options(db)),
  'mariadb connection': (db) => mariadb.createConnection(options(db)),
  'mariadb 3.4 pool': (db) => mariadbBefore.createPool(options(db)),
  'mariadb 3.4 connection': (db) => mariadbBefore.createConnection(options(db)),
}

let client
let template

before(async () => {
  client = await connect()
  template = await client.template({ name: 'drivers', key: '1', build })
})
after(() => client.close())

async function build({ url }) {
  const connection = await mysql.createConnection({ uri: url, multipleStatements: true })
  await connection.query("CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, item TEXT); INSERT INTO orders (item) VALUES ('tea'), ('milk')")
  await connection.end()
}

const add = "INSERT INTO orders (item) VALUES ('cup')"

const row = (answer) => answer[0][0] ?? answer[0]

const count = async (connection) => Number(row(await connection.query('SELECT COUNT(*) AS n FROM orders')).n)

// What leaves something in a session, and what tells it.
const states = {
  foreign_key_checks: ['SET foreign_key_checks = 0', 'SELECT @@foreign_key_checks'],
  sql_mode: ["SET SESSION sql_mode = ''", 'SELECT @@sql_mode'],
  isolation: ['SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE', "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"],
  autocommit: ['SET autocommit = 0', 'SELECT @@autocommit'],
  timestamp: ['SET timestamp = 1000', 'SELECT YEAR(NOW()) > 2000'],
  'character set': ['SET NAMES latin1', 'SELECT @@character_set_client, @@character_set_results, @@collation_connection'],
  'user variable': ['SET @x = 1', 'SELECT @x'],
  'temporary table': ['CREATE TEMPORARY TABLE orders (a INT)', 'SELECT COUNT(*) FROM orders'],
  'user lock': ["DO GET_LOCK('z', 0)", "SELECT IS_FREE_LOCK('z')"],
  database: ['USE information_schema', 'SELECT DATABASE()'],
  last_insert_id: [add, 'SELECT LAST_INSERT_ID()'],
  transaction: [`START TRANSACTION; ${add}`, 'SELECT COUNT(*) FROM orders'],
  'locked table': [`LOCK TABLES orders WRITE; ${add}`, 'SELECT COUNT(*) FROM orders'],
}

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1].toFixed(2)

for (const [name, make] of Object.entries(drivers)) {
  describe(name, () => {
    let db, made, one

    before(async () => {
      db = await client.createDatabase(template, { ttl: 300 })
      made = db.use(await make(db))
      const shared = name.endsWith('callbacks') ? made.promise() : made
      one = shared.getConnection ? await shared.getConnection() : shared
    })
    after(async () => {
      await db.release()
      if (name.includes('pool')) one.release()
      await Promise.resolve(made.end()).catch(() => {}) // a connection that was ended cannot say goodbye
    })

    test('a change is undone, the connection stays', async (t) => {
      const id = one.threadId
      const times = []
      for (let i = 0; i < rounds; i++) {
        await one.query(add)
        const start = performance.now()
        await db.reset()
        times.push(performance.now() - start)
      }
      assert.equal(await count(one), 2)
      assert.equal(one.threadId, id)
      t.diagnostic(`reset: median ${median(times)} ms of ${rounds}`)
    })

    test('a transaction that was left open costs no connection', async () => {
      await one.query('START TRANSACTION')
      await one.query(add)
      await db.reset()
      assert.equal(await count(one), 2)
    })

    for (const [state, [leave, ask]] of Object.entries(states)) {
      test(`${state} does not outlive a reset`, async () => {
        const value = async () => JSON.stringify(Object.values(row(await one.query(ask))), (_, v) => (typeof v === 'bigint' ? Number(v) : v))
        const before = await value()
        for (let i = 0; i < 10; i++) { // what is a race shows itself in some rounds only
          for (const statement of leave.split('; ')) await one.query(statement)
          assert.notEqual(await value(), before)
          await db.reset()
          assert.equal(await value(), before)
        }
      })
    }

    test('a prepared statement is prepared again', async () => {
      for (let i = 0; i < 3 && one.execute; i++) {
        await one.execute('SELECT COUNT(*) AS n FROM orders')
        await db.reset()
      }
    })

    test('a session is kept', async (t) => {
      await one.query('SET @x = 7')
      await db.reset({ sessions: false })
      assert.equal(Number(row(await one.query('SELECT @x AS x')).x), 7)
      const times = { true: [], false: [] }
      for (let i = 0; i < rounds; i++) {
        for (const sessions of [true, false]) {
          await one.query(add)
          const start = performance.now()
          await db.reset({ sessions })
          times[sessions].push(performance.now() - start)
        }
      }
      t.diagnostic(`reset with its session: median ${median(times.true)} ms of ${rounds}, without ${median(times.false)}`)
    })

    test('a connection that is ended says why', async () => {
      await one.query("XA START 'left'") // which a plain ROLLBACK cannot end
      await one.query(add)
      await db.reset({ sessions: false })
      await assert.rejects(one.query(add), { message: killed })
    })

    if (!name.includes('pool')) return

    test('so does one that was busy, and the pool goes on', async () => {
      const shared = made.promise?.() ?? made
      const busy = await shared.getConnection()
      await busy.query('START TRANSACTION')
      await busy.query(add)
      const sleep = assert.rejects(busy.query('SELECT SLEEP(20)'), { message: killed })
      await db.reset()
      await sleep
      busy.release()
      assert.equal(await count(shared), 2)
    })
  })
}

test('a connection that was not made known is ended, without a reason', async () => {
  const db = await client.createDatabase(template)
  const connection = await mysql.createConnection(db.url)
  connection.on('error', () => {})
  await connection.query('START TRANSACTION')
  await connection.query(add)
  await db.reset()
  const err = await connection.query(add).catch((e) => e)
  assert.ok(err instanceof Error && !err.message.includes('Ramaria'), err)
  await db.release()
})

test('a connection that was busy since it was made known is ended, and says so', async () => {
  const db = await client.createDatabase(template)
  const connection = await mysql.createConnection(db.url)
  connection.on('error', () => {})
  connection.query('SELECT SLEEP(3)').catch(() => {})
  db.use(connection)
  await db.reset()
  await assert.rejects(connection.query('SELECT 1'), { message: /^Ramaria ended this connection at a reset, since it was busy from db\.use until then/ })
  await db.release()
})

test('a lost connection that Ramaria did not end keeps its error', async () => {
  const db = await client.createDatabase(template)
  const pool = db.use(mysql.createPool(db.url))
  const victim = await pool.getConnection()
  await db.reset()
  await pool.query('KILL ?', [victim.threadId])
  const err = await victim.query('SELECT 1').catch((e) => e)
  assert.ok(err instanceof Error && !err.message.includes('Ramaria'), err)
  await pool.end()
  await db.release()
})

test('the plain calls', async (t) => {
  const db = await client.createDatabase(template)
  const times = []
  for (let i = 0; i < rounds; i++) {
    const start = performance.now()
    assert.equal((await db.reset()).way, 'noop')
    times.push(performance.now() - start)
  }
  t.diagnostic(`reset of an unchanged database: median ${median(times)} ms of ${rounds}`)
  await db.setSavepoint()
  assert.equal((await db.rollBack()).way, 'noop')
  await db.reset()
  await assert.rejects(db.rollBack(), { code: 'lost' })
  assert.equal((await client.database(db.name)).url, db.url)
  await db.keep()
  await db.release()
  const connection = await mysql.createConnection(db.url)
  assert.equal(await count(connection), 2)
  await connection.end()
  await client.call('DELETE', `/v1/databases/${db.name}`)
  await assert.rejects(client.database(db.name), { code: 'not_found' })

  const leases = []
  for (let i = 0; i < 20; i++) {
    const start = performance.now()
    const lease = await client.createDatabase(template)
    leases.push(performance.now() - start)
    await lease.release()
  }
  t.diagnostic(`lease: median ${median(leases)} ms of ${leases.length}`)
})
