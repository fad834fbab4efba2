// The step: gets Ramaria, takes server and data from the cache, starts the instance, and tells the job where it is.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as cache from '@actions/cache'
import * as core from '@actions/core'
import { cached, home, prefix, ramaria } from './ramaria.mjs'
import { dataKey, lines, optionFile, settingFlags, upFlags } from './settings.mjs'

/** distribution tells the system: what a server from its packages is, depends on it. */
function distribution() {
  try {
    const text = readFileSync('/etc/os-release', 'utf8')
    return ['ID', 'VERSION_ID'].map((n) => text.match(new RegExp(`^${n}="?([^"\n]*)`, 'm'))?.[1] ?? '').join('')
  } catch {
    return 'linux'
  }
}

/** install puts the program on the PATH, unless it is there from the cache. */
function install(version) {
  core.addPath(join(prefix, 'bin'))
  process.env.PATH = join(prefix, 'bin') + delimiter + process.env.PATH
  try {
    if (execFileSync(join(prefix, 'bin/ramaria'), ['--version'], { encoding: 'utf8' }).includes(` ${version} `)) return
  } catch { /* it is not there yet */ }
  const env = { ...process.env, PREFIX: prefix, VERSION: version }
  if (process.env.RAMARIA_RELEASES) env.FROM = process.env.RAMARIA_RELEASES
  execFileSync('sh', [fileURLToPath(new URL('install.sh', import.meta.url))], { stdio: 'inherit', env })
}

/** restore brings back what an earlier job has saved, and says by which key this one saves. */
async function restore(version, input) {
  if (!cache.isFeatureAvailable()) {
    core.info('there is no cache here')
    return ''
  }
  const general = `ramaria-${version}-${process.arch}-${distribution()}-${input('flavour').replace(/[^\w.]/g, '-')}-`
  const key = general + (await dataKey(input))
  const found = await cache.restoreCache([...cached], key, [general])
  core.setOutput('cache-hit', String(found === key))
  return found === key ? '' : key
}

/** tell gives the job outputs and variables by which it finds the instance. */
function tell(name) {
  const is = JSON.parse(ramaria(['env', name, '--format', 'json']))
  for (const secret of [is.password, new URL(is.url).password]) core.setSecret(secret) // as itself, and as in URLs
  for (const output of ['socket', 'api', 'host', 'port', 'user', 'password', 'database']) core.setOutput(output, String(is[output]))
  core.setOutput('dsn', is.url)
  if (is.front) core.setOutput('front', Object.assign(new URL(is.url), { port: is.front, pathname: '/' }).href)
  const env = { ...process.env, RAMARIA_HOME: home }
  const after = execFileSync('sh', ['-c', 'eval "$(ramaria env "$1")" && env -0', 'sh', name], { encoding: 'utf8', env })
  for (const variable of after.split('\0').filter(Boolean)) {
    const [, key, value] = variable.match(/^([^=]*)=([\s\S]*)$/)
    if (value !== process.env[key] && !['_', 'PWD', 'SHLVL'].includes(key)) core.exportVariable(key, value)
  }
}

/** serverOf is the name with the version of the server that a flavour is, which is fetched if it has to be. */
function serverOf(flavour) {
  if (flavour.includes('/')) return flavour // of a program, of which only groups without a version count
  const found = JSON.parse(ramaria(['server', 'ls', '--json'])).filter((s) => !s.passed_over)
  const [name, series = ''] = flavour.split(':')
  const here = found.find((s) => s.flavour === name && `${s.version}.`.startsWith(series && `${series}.`))
  return here?.name ?? ramaria(['server', 'fetch', flavour]).trim()
}

/** taken reports whether another listens at a port. */
const taken = (port) => new Promise((resolve) => {
  const server = createServer().once('error', (e) => resolve(e.code === 'EADDRINUSE'))
  server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(false)))
})

/** up starts the instance. */
async function up(name, flags, front) {
  try {
    ramaria(['up', name, ...flags])
  } catch (e) {
    if (!front || !(await taken(front))) throw e
    throw new Error(`front: port ${front} is taken. Where a job uses this action more than once, each use with templates needs a port of its own`)
  }
}

async function main() {
  const input = (name) => core.getInput(name)
  const name = input('name')
  const password = input('password')
  if (password) core.setSecret(password)
  const passwordFile = password && join(home, `password-${name}`)
  const flags = upFlags(input, passwordFile)
  const options = optionFile(input('my-cnf'))
  const bundled = readFileSync(new URL('VERSION', import.meta.url), 'utf8').trim()
  const installed = input('version') === 'installed'
  const version = installed ? ramaria(['--version']).trim().split(' ')[1] : input('version').replace(/^v/, '') || bundled
  const key = await restore(version, input)
  if (!installed) install(version)
  core.saveState('name', name) // from here on the last step removes what there is
  core.saveState('key', key)
  if (password) {
    mkdirSync(home, { recursive: true, mode: 0o755 })
    writeFileSync(passwordFile, password, { mode: 0o600 })
    chmodSync(passwordFile, 0o600) // of an earlier job, perhaps
  }
  // Its version is asked for where that matters only.
  const server = options.some(([group]) => /-\d/.test(group)) ? serverOf(input('flavour')) : input('flavour')
  await up(name, [...flags, ...settingFlags(server, options)], input('template') && input('front'))
  for (const template of lines(input('template'))) ramaria(['template', 'add', template, '-i', name])
  tell(name)
}

try {
  await main()
} catch (e) {
  core.setFailed(e.status ? 'Ramaria is not up; why is said above' : e.message)
}
