// What the inputs of the action mean.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** lines returns the lines of an input that are not empty. */
export const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean)

/** optionFile reads my.cnf, or the path of one, as pairs of a group and a setting NAME=VALUE of ramaria up --set. */
export function optionFile(text) {
  if (!text.includes('\n') && !text.includes('=') && existsSync(text)) text = readFileSync(text, 'utf8')
  const options = []
  let group = 'server'
  for (const line of lines(text)) {
    const begins = line.match(/^\[([^\]]+)\]\s*(#.*)?$/)
    if (begins) {
      group = begins[1]
    } else if (!/^[#;]/.test(line)) {
      if (line.startsWith('!')) throw new Error(`my-cnf: ${line}: other files are not read; put their settings here`)
      const [name, ...value] = line.split('=')
      const [, quoted, plain] = value.join('=').trim().match(/^(?:(".*?"|'.*?')\s*(?:#.*)?|(.*?)(?:\s*#.*)?)$/)
      const bare = quoted?.slice(1, -1) ?? plain
      options.push([group, `${name.trim().replaceAll('-', '_')}=${value.length ? bare : 'ON'}`])
    }
  }
  return options
}

/**
 * reads reports whether a server, such as mysql or mariadb-11.8.9, reads a group: what it says itself by --help --verbose,
 * but for groups that are not its alone. MariaDB has those of a major version from 11.8 on.
 */
export function reads(server, group) {
  const [, flavour, major, minor] = server.match(/^(mariadb|mysql)(?:\D(\d+)\.(\d+))?/) ?? []
  const names = flavour === 'mysql' ? ['mysqld'] : ['mysqld', 'mariadb', 'mariadbd']
  const newer = major > 11 || (major === '11' && minor >= 8)
  return group === 'server' || names.some((n) => group === n || group === `${n}-${major}.${minor}` || (newer && n !== 'mysqld' && group === `${n}-${major}`))
}

/** settingFlags returns the flags of ramaria up for the options that a server reads. */
export const settingFlags = (server, options) => options.flatMap(([group, setting]) => (reads(server, group) ? ['--set', setting] : []))

/** upFlags returns the flags of ramaria up for inputs, a function from name to value. */
export function upFlags(input, passwordFile) {
  const flags = ['--fresh', '--server', input('flavour'), '--user', input('user')]
  for (const source of lines(input('from'))) flags.push('--from', source)
  for (const name of ['key', 'database', 'port']) if (input(name)) flags.push(`--${name}`, input(name))
  if (passwordFile) flags.push('--password-file', passwordFile)
  if (input('tmpfs-size')) flags.push('--volume', `shm:${input('tmpfs-size')}`)
  if (input('template')) flags.push('--front', input('front'))
  if (!['true', 'false'].includes(input('durable'))) throw new Error(`durable: ${input('durable')}: it is true or false`)
  if (input('durable') === 'true') flags.push('--durable')
  return flags
}

/** dataKey is the same for the same data: of the files that sources name, and what else decides what is made of them. */
export async function dataKey(input) {
  const hash = createHash('sha256')
  const add = async (path) => {
    if (!existsSync(path)) return
    hash.update(`${path}\0`)
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) await add(join(path, name))
    else await pipeline(createReadStream(path), async (chunks) => { for await (const c of chunks) hash.update(c) })
  }
  for (const name of ['from', 'key', 'database', 'my-cnf']) hash.update(`${name}=${input(name)}\0`)
  for (const source of [...lines(input('from')), ...lines(input('my-cnf'))]) await add(source)
  return hash.digest('hex').slice(0, 16)
}
