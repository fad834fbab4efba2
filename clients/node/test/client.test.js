import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as ramaria from 'ramaria'
import { Client, connect } from 'ramaria'
import { fake } from './fake.js'

const lease = { name: 'shop_1', host: '127.0.0.1', port: 1, socket: '/s', user: 'u', password: 'p', url: 'mysql://u:p@127.0.0.1:1/shop_1', template: 'shop_1f', expires_at: '2026-11-21T14:00:01Z', news: 1 }

// templates answers POST /v1/templates as an instance does: one caller builds, the others wait.
function templates() {
  let state = 'absent'
  let waiting = []
  const wake = () => { waiting.forEach((go) => go()); waiting = [] }
  return {
    'POST /v1/templates': async () => {
      while (state === 'building') await new Promise((go) => waiting.push(go))
      if (state === 'ready') return [200, { state, template: { name: 'shop_1f' } }]
      state = 'building'
      return [200, { state: 'build', template: { name: 'shop_1f' }, database: lease }]
    },
    'PUT /v1/templates/shop_1f': () => { state = 'ready'; wake(); return [200, { name: 'shop_1f' }] },
    'DELETE /v1/templates/shop_1f': () => { state = 'absent'; wake(); return [204] },
  }
}

test('one of several builds, the others wait; after a failure the next one builds', async (t) => {
  const { socket, calls } = await fake(t, templates())
  let built = 0
  const build = async ({ url }) => {
    assert.equal(url, lease.url)
    if (++built === 1) throw new Error('migration 7 is broken')
  }
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => new Client(socket).template({ name: 'shop', key: 'k', build, wait: 5 })))
  assert.equal(built, 2)
  assert.deepEqual(results.map((r) => r.value?.name ?? r.reason.message).sort(), ['migration 7 is broken', 'shop_1f', 'shop_1f', 'shop_1f'])
  assert.deepEqual(calls[0].body, { name: 'shop', key: 'k', wait_s: 5 })
})

test('a template needs a source, and a function a key', async () => {
  const client = new Client('/nowhere')
  await assert.rejects(client.template({ name: 'shop' }), /either from or build/)
  await assert.rejects(client.template({ name: 'shop', build() {} }), /give a key/)
})

test('a database is reset, kept and released', async (t) => {
  const { socket, calls } = await fake(t, {
    'POST /v1/databases': () => [201, lease],
    'GET /v1/databases/shop_1': () => [200, lease],
    'POST /v1/databases/shop_1/reset': () => [200, { way: 'noop', micros: 7, news: 1 }],
    'POST /v1/databases/shop_1/savepoint': () => [204],
    'POST /v1/databases/shop_1/rollback': () => [409, { error: { code: 'lost', message: 'the savepoint is lost' } }],
    'POST /v1/databases/shop_1/keep': () => [200, { ...lease, expires_at: undefined }],
    'DELETE /v1/databases/shop_1': () => [204],
  })
  const client = new Client(socket)
  const db = await client.createDatabase({ name: 'shop_1f' }, { ttl: 60 })
  assert.deepEqual(calls[0].body, { template: 'shop_1f', ttl_s: 60 })
  assert.equal(calls[0].type, 'application/json')
  assert.equal(db.database, 'shop_1')
  assert.equal(db.expires.toISOString(), '2026-11-21T14:00:01.000Z')
  assert.deepEqual(await db.reset(), { way: 'noop', micros: 7, news: 1, warnings: [] })
  assert.equal(calls[1].body, undefined)
  assert.equal(await db.setSavepoint(), undefined)
  await assert.rejects(db.rollBack(), { code: 'lost' })
  await db.release()
  await db.release()
  const other = await client.database('shop_1')
  assert.equal((await other.keep()).expires, undefined)
  if (Symbol.asyncDispose) await other[Symbol.asyncDispose]()
  assert.equal(calls.filter((c) => c.method === 'DELETE').length, 1)
  assert.equal(new Set(calls.map((c) => c.connection)).size, 1, 'all on one connection')
})

test('an error has code, hint and status', async (t) => {
  const { socket } = await fake(t, { 'GET /v1/status': () => [503, { error: { code: 'full', message: 'no room', hint: 'release one' } }] })
  const err = await new Client(socket).status().catch((e) => e)
  assert.ok(err instanceof ramaria.RamariaError)
  assert.deepEqual([err.code, err.status, err.hint, err.message], ['full', 503, 'release one', 'no room\nhint: release one'])
})

test('an instance that hangs up after it read a request is not asked again', async (t) => {
  const { socket, calls } = await fake(t, { 'GET /v1/status': () => [200, {}], 'POST /v1/databases': () => [0] })
  const client = new Client(socket)
  await client.status()
  await assert.rejects(client.createDatabase('shop'), { code: 'no_server' })
  assert.equal(calls.length, 2)
})

test('a kept connection that was closed is no error', async (t) => {
  const { socket, calls } = await fake(t, { 'GET /v1/status': () => [200, {}], 'POST /v1/databases': () => [201, lease] })
  const client = new Client(socket)
  for (let i = 0; i < 20; i++) {
    await client.status()
    calls.at(-1).connection.destroy() // the client has not seen it when it asks
    await client.createDatabase('shop')
  }
  assert.equal(calls.length, 40)
})

test('what is no socket is refused', async () => {
  await assert.rejects(new Client('/nowhere/api.sock').status(), { code: 'no_server' })
  await assert.rejects(new Client(tmpdir()).status(), /is no socket/)
})

test('an instance is started where none is named', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ramaria-node-'))
  const before = { ...process.env }
  t.after(() => {
    rmSync(dir, { recursive: true })
    process.env = before
  })
  const program = (text) => {
    writeFileSync(join(dir, 'ramaria'), `#!/bin/sh\n${text}\n`)
    chmodSync(join(dir, 'ramaria'), 0o755)
  }
  delete process.env.RAMARIA_API
  process.env.RAMARIA_BIN = join(dir, 'ramaria')
  process.env.RAMARIA_INSTANCE = 'mine'
  program(`case "$*" in 'up mine') echo mysql://;; 'env mine') cat <<'END'
export MYSQL_HOST='x'
export RAMARIA_API='/it'\\''s/api.sock'
END
;; esac`)
  assert.equal((await connect()).socket, "/it's/api.sock")
  program('printf "ramaria: no room\\nhint: free some\\n" >&2; exit 1')
  await assert.rejects(connect(), { code: 'command', message: 'ramaria up mine: no room\nhint: free some', hint: 'free some' })
  process.env.RAMARIA_BIN = join(dir, 'gone')
  await assert.rejects(connect(), { code: 'no_server', hint: /RAMARIA_BIN/ })
})

test('an instance that is another than the variables choose is refused', async (t) => {
  const before = { ...process.env }
  t.after(() => { process.env = before })
  const client = await connect()
  t.after(() => client.close())
  const { server: { flavour } } = await client.status()
  process.env.RAMARIA_API = client.socket
  process.env.RAMARIA_SERVER = flavour
  assert.equal((await connect()).socket, client.socket)
  process.env.RAMARIA_SERVER = flavour === 'mysql' ? 'mariadb' : 'mysql'
  await assert.rejects(connect(), { code: 'other', hint: /unset RAMARIA_SERVER/ })
})

test('CommonJS has the same', () => {
  const required = createRequire(import.meta.url)('ramaria')
  assert.deepEqual(Object.keys(required).sort(), Object.keys(ramaria).sort())
})

// A connection that answers when it is let, by callbacks, in turn.
function slow() {
  const held = []
  const connection = {
    threadId: 7,
    asked: [],
    busy: false,
    destroyed: false,
    on() {},
    query(sql, done) {
      const text = sql.sql ?? sql
      const rows = text.startsWith('SHOW') ? [{ Variable_name: 'tx_isolation' }] : [{ db: 'shop_1' }]
      this.answer(text, () => done(null, rows))
    },
    reset(done) { this.answer('reset', () => done(null)) },
    rollback(done) { this.answer('rollback', () => done(null)) },
    destroy() { this.destroyed = true },
    answer(what, done) {
      this.asked.push(what.split(' ')[0])
      if (this.busy) held.push(done)
      else setImmediate(done)
    },
    async go() {
      this.busy = false
      held.splice(0).forEach((done) => done())
      await sleep(20)
    },
  }
  return connection
}

test('a session that is put back late is so before the next test uses it', async (t) => {
  const { socket } = await fake(t, {
    'POST /v1/databases': () => [201, lease],
    'POST /v1/databases/shop_1/reset': () => [200, { way: 'noop', micros: 7 }],
  })
  const db = await new Client(socket).createDatabase({ name: 'shop_1f' })
  const [known, unknown] = [slow(), slow()]
  unknown.threadId = 8
  unknown.busy = true // since it was made known: what its session was nobody could look at
  db.use(known)
  db.use(unknown)
  await sleep(20)
  known.asked.length = 0
  known.busy = true
  await db.reset()
  assert.deepEqual([known.destroyed, unknown.destroyed], [false, true])
  known.query('NEXT', () => {})
  await known.go()
  await unknown.go()
  assert.deepEqual(known.asked, ['reset', 'USE', 'SET', 'NEXT'])
  assert.ok(!unknown.asked.includes('reset'), unknown.asked)
})
