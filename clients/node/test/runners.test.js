// The helpers under their own test runners, several workers at once.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import mysql from 'mysql2/promise'
import { connect } from 'ramaria'

const here = fileURLToPath(new URL('runners', import.meta.url))
const app = process.cwd()
const module = (path) => join(app, 'node_modules', path)

const runners = {
  'node:test': (files) => ['--test', ...files.map((f) => join(here, 'node', `${f}.js`))],
  Jest: (files) => [module('jest/bin/jest.js'), '-w', '3', '--rootDir', join(here, 'jest'), '--testMatch', ...files.map((f) => `**/${f}.cjs`)],
  Vitest: (files) => [module('vitest/vitest.mjs'), 'run', '--root', app, '--config', join(here, 'vitest/config.js'), '--maxWorkers', '3', ...files.map((f) => join(here, 'vitest', `${f}.js`))],
}

// run resolves to how the runner ended, what it printed, and what its tests noted.
function run(args, env) {
  const dir = mkdtempSync(join(tmpdir(), 'ramaria-node-'))
  const builds = join(dir, 'builds')
  const { NODE_TEST_CONTEXT, ...clean } = process.env // else node --test reports to this one
  const child = spawn(process.execPath, args, { cwd: app, env: { ...clean, NO_COLOR: '1', FORCE_COLOR: '0', ...env, BUILDS: builds } })
  let output = ''
  child.stdout.on('data', (chunk) => { output += chunk })
  child.stderr.on('data', (chunk) => { output += chunk })
  return new Promise((resolve) => child.on('close', (status) => {
    const notes = existsSync(builds) ? readFileSync(builds, 'utf8') : ''
    rmSync(dir, { recursive: true })
    resolve({ status, output, notes })
  }))
}

for (const [name, args] of Object.entries(runners)) {
  const TEMPLATE = `runner_${name.replace(':', '_').toLowerCase()}_${process.pid}`

  describe(name, () => {
    test('three workers at once: one builds, no test sees another', async () => {
      const { status, output, notes } = await run(args(['one.test', 'two.test', 'three.test']), { TEMPLATE })
      assert.equal(status, 0, output)
      assert.match(output, /12/)
      assert.equal(notes, 'built\n')
    })

    test('a failed test leaves nothing', async () => {
      const { status, output, notes } = await run(args(['failing.fail']), { TEMPLATE })
      assert.equal(status, 1, output)
      assert.doesNotMatch(output, /kept the database/)
      assert.match(output, name === 'node:test' ? /pass 1\n/ : /1 failed \| 1 passed|1 failed, 1 passed/)
      assert.equal(notes, '', 'the template was there')
    })

    test('a failed test keeps its database, and no other test runs on it', async () => {
      const { status, output, notes } = await run(args(['failing.fail', 'given.fail']), { TEMPLATE, RAMARIA_KEEP: '1' })
      assert.equal(status, 1, output)
      if (name !== 'Vitest' && parseInt(process.versions.node) < 20) { // neither tells how a test ended there
        assert.match(output, /RAMARIA_KEEP has no effect: this test runner does not tell whether a test failed/)
        assert.doesNotMatch(output, /kept the database/)
        return
      }
      assert.match(output, name === 'node:test' ? /pass 1\n/ : /3 failed \| 1 passed|3 failed, 1 passed/)
      assert.match(output, /not run: connections of this file go to the database that was kept for the failed test fails/)
      assert.equal(notes, '')
      const urls = [...output.matchAll(/kept the database of the failed test fails: (mysql:\S+)/g)].map((m) => m[1])
      assert.equal(urls.length, 2, output)
      const client = await connect()
      for (const url of urls) {
        const connection = await mysql.createConnection(url)
        const [rows] = await connection.query("SELECT * FROM orders WHERE item = 'evidence'")
        assert.equal(rows.length, 1)
        await connection.end()
        await client.call('DELETE', `/v1/databases/${new URL(url).pathname.slice(1)}`)
      }
      client.close()
    })
  })
}

test('tests inside of a test of node:test share its database', async () => {
  const { status, output } = await run(runners['node:test'](['nested.test']), { TEMPLATE: `runner_nested_${process.pid}` })
  assert.equal(status, 0, output)
})

test('nothing is left', async () => {
  const client = await connect()
  const left = await client.call('GET', '/v1/databases')
  assert.deepEqual(left.filter((db) => db.template.startsWith('runner_')), [])
  client.close()
})
