// The same tests without Ramaria, to compare with: NODE_OPTIONS=--conditions=plain npm test. All have one database,
// that of DATABASE_URL. ISOLATION says how it is put back before each of them: truncate, reload, or none, with which
// they fail.
import { readFileSync } from 'node:fs'
import { after, before, beforeEach } from 'node:test'
import mysql from 'mysql2/promise'
import { look } from './look.js'

const dump = readFileSync('../shop.sql', 'utf8').replace(/;\s*$/, '').split(';\n')
const database = process.env.MYSQL_DATABASE

export const db = { connection: mysql.createPool({ uri: process.env.DATABASE_URL, connectionLimit: 1 }) }

const ways = {
  async truncate() {
    const [tables] = await db.connection.query('SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()')
    await run([...tables.map(({ name }) => `TRUNCATE TABLE ${name}`), ...dump.filter((statement) => statement.startsWith('INSERT'))])
  },
  reload: () => run([`DROP DATABASE ${database}`, `CREATE DATABASE ${database}`, `USE ${database}`, ...dump]),
  none() {},
}

const back = ways[process.env.ISOLATION]
if (!back) throw new Error('ISOLATION is truncate, reload or none')

async function run(statements) {
  for (const statement of statements) await db.connection.query(statement)
}

before(ways.reload)
beforeEach(async () => {
  await back()
  await look(db.connection)
})
after(() => db.connection.end())
