// The same tests for each runner; CommonJS, which all of them can load.
const assert = require('node:assert/strict')
const { appendFileSync } = require('node:fs')
const mysql = require('mysql2/promise')

const options = {
  template: {
    name: process.env.TEMPLATE,
    key: '1',
    async build({ url }) {
      appendFileSync(process.env.BUILDS, 'built\n')
      await new Promise((resolve) => setTimeout(resolve, 500)) // so that the others come meanwhile
      const connection = await mysql.createConnection({ uri: url, multipleStatements: true })
      await connection.query("CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, item TEXT); INSERT INTO orders (item) VALUES ('tea'), ('milk')")
      await connection.end()
    },
  },
  connect: ({ url }) => mysql.createPool(url),
}

async function count(pool) {
  const [[{ n }]] = await pool.query('SELECT COUNT(*) AS n FROM orders')
  return n
}

exports.isolation = (test, ramariaDatabase) => {
  const db = ramariaDatabase(options)
  assert.throws(() => db.url, /use it inside tests and hooks/)
  const names = new Set()
  for (const i of [1, 2, 3, 4]) {
    test(`change ${i}`, async () => {
      names.add(db.name)
      assert.equal(names.size, 1, 'one database for the file')
      assert.equal(await count(db.connection), 2)
      const connection = await db.connection.getConnection()
      await connection.query('START TRANSACTION')
      const [{ insertId }] = await connection.query("INSERT INTO orders (item) VALUES ('cup')")
      assert.equal(insertId, 3)
      if (i % 2) await connection.query('COMMIT')
      connection.release() // every other one with its transaction open
      if (i % 2) assert.equal(await count(db.connection), 3)
    })
  }
}

// Only node:test has tests inside of tests.
exports.nested = (test, ramariaDatabase) => {
  const db = ramariaDatabase({ ...options, connect: ({ url }) => [mysql.createPool(url), mysql.createPool(url)] })
  test('outer', async (t) => {
    const [one, two] = db.connection
    await one.query("INSERT INTO orders (item) VALUES ('cup')")
    await t.test('first', async () => assert.equal(await count(two), 3))
    await t.test('second', async () => assert.equal(await count(two), 3))
  })
  test('next', async () => assert.equal(await count(db.connection[0]), 2))
}

exports.failing = (test, ramariaDatabase) => {
  const db = ramariaDatabase(options)
  let kept
  test('fails', async () => {
    kept = db.name
    await db.connection.query("INSERT INTO orders (item) VALUES ('evidence')")
    throw new Error('on purpose')
  })
  test('goes on', async () => {
    assert.equal(await count(db.connection), 2)
    assert.equal(db.name === kept, process.env.RAMARIA_KEEP !== '1')
  })
}

exports.given = (test, ramariaDatabase) => {
  const db = ramariaDatabase({ template: options.template })
  test('fails', async () => {
    const pool = db.use(mysql.createPool(db.url))
    await pool.query("INSERT INTO orders (item) VALUES ('evidence')")
    await pool.end()
    throw new Error('on purpose')
  })
  test('must not run', () => {
    appendFileSync(process.env.BUILDS, 'ran\n')
  })
}
