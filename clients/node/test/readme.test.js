import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'ramaria'

const root = join(createRequire(import.meta.url).resolve('ramaria/package.json'), '..')
const examples = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```js\n([^]*?)^```/gm)].map((m) => m[1])
const { NODE_TEST_CONTEXT, ...env } = process.env

// The directory is below the one with node_modules, where imports are looked for, and a project as npm init -y makes it:
// without a type, so that a module has to say by its name that it is one.
function project(t) {
  const dir = mkdtempSync(join(process.cwd(), 'readme-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'package.json'), '{"name": "shop", "version": "1.0.0", "main": "index.js"}')
  writeFileSync(join(dir, 'shop.sql'), "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, item TEXT);\nINSERT INTO orders (item) VALUES ('tea'), ('milk');\n")
  return dir
}

test('the first example, by three workers at once, none of which finds an instance', (t) => {
  const dir = project(t)
  const name = examples[0].match(/^\/\/ (\S+)\n/)[1]
  const files = [1, 2, 3].map((i) => `${i}-${name}`)
  for (const file of files) writeFileSync(join(dir, file), examples[0])
  const cold = { ...env, RAMARIA_INSTANCE: `${env.RAMARIA_INSTANCE}-cold` }
  t.after(() => execFileSync(env.RAMARIA_BIN, ['down', cold.RAMARIA_INSTANCE, '--rm'], { stdio: 'pipe' }))
  const output = execFileSync(process.execPath, ['--test', ...files], { cwd: dir, env: cold, encoding: 'utf8' })
  assert.match(output, /pass 6\n/)
})

test('the example of the page on test suites', (t) => {
  const dir = project(t)
  const [, name, example] = readFileSync(new URL('fast-test-suite.md', import.meta.url), 'utf8').match(/^```js\n(?:\/\/ (\S+)\n)([^]*?)^```/m)
  writeFileSync(join(dir, 'shop.sql'), 'CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT, item TEXT);\n')
  writeFileSync(join(dir, name), example)
  assert.match(execFileSync(process.execPath, ['--test', name], { cwd: dir, env, encoding: 'utf8' }), /pass 1\n/)
})

test('the example without a test runner', (t) => {
  const dir = project(t)
  writeFileSync(join(dir, 'example.mjs'), examples.at(-1).replace("['schema.sql', 'data.sql.gz']", "['shop.sql']"))
  const output = execFileSync(process.execPath, ['example.mjs'], { cwd: dir, env, encoding: 'utf8' })
  assert.match(output, /^mysql:\/\/.*\n\{[^]*way: 'noop'/)
})

test('dumps are loaded again when they changed', async (t) => {
  const dir = project(t)
  const client = await connect()
  const source = { name: 'changing', from: new URL(`file://${dir}/shop.sql`) }
  const [one, same] = await Promise.all([client.template(source), client.template(source)])
  assert.equal(same.name, one.name)
  writeFileSync(join(dir, 'package.json'), '{"name": "shop", "version": "1.0.0", "main": "index.js"}')
  writeFileSync(join(dir, 'shop.sql'), 'CREATE TABLE orders (id INT PRIMARY KEY);\n')
  assert.notEqual((await client.template(source)).name, one.name)
  client.close()
})

test('npx ramaria is the binary of the package', () => {
  const { RAMARIA_BIN, ...without } = env
  assert.match(execFileSync('npx', ['--no-install', 'ramaria', '--version'], { env: without, encoding: 'utf8' }), /^ramaria /)
})
