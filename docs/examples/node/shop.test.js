import { test } from 'node:test'
import assert from 'node:assert/strict'
import { db } from '#database'

const names = async () => (await db.connection.query('SELECT name FROM items ORDER BY id'))[0].map((item) => item.name)

for (let n = 0; n < Number(process.env.TIMES ?? 1); n++) { // a benchmark wants more of them
  test(`adds an item ${n}`, async () => {
    await db.connection.query('INSERT INTO items (name) VALUES (?)', [`cocoa ${n}`])
    assert.deepEqual(await names(), ['tea', 'coffee', `cocoa ${n}`])
  })

  test(`renames an item ${n}`, async () => {
    await db.connection.query('UPDATE items SET name = ? WHERE id = 1', [`chai ${n}`])
    assert.deepEqual(await names(), [`chai ${n}`, 'coffee'])
  })

  test(`deletes an item ${n}`, async () => {
    await db.connection.query('DELETE FROM items WHERE id = 2')
    assert.deepEqual(await names(), ['tea'])
  })

  test(`alters the table ${n}`, async () => {
    await db.connection.query(`ALTER TABLE items ADD COLUMN price_${n} INT`)
    assert.deepEqual(await names(), ['tea', 'coffee'])
  })

  test(`sets a variable ${n}`, async () => {
    await db.connection.query(`SET lock_wait_timeout = ${100 + n}`)
    assert.deepEqual(await names(), ['tea', 'coffee'])
  })

  test(`only reads ${n}`, async () => {
    assert.deepEqual(await names(), ['tea', 'coffee'])
  })
}
