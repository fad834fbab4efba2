// Prints the licences of the packages that esbuild puts into the action: those that npm installed, but for development.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [, ...dirs] = execFileSync('npm', ['ls', '--all', '--omit=dev', '--parseable'], { encoding: 'utf8' }).trim().split('\n')
const packages = dirs.map((dir) => {
  const { name, version, license, author } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  const file = readdirSync(dir).find((name) => /^licen[cs]e(\.\w+)?$/i.test(name))
  if (!file && !license) throw new Error(`write the licences: ${name} names none`)
  const text = file ? readFileSync(join(dir, file), 'utf8').trim() : `Licence: ${license}. The package has no text of it; its author is ${author?.name ?? author}.`
  return `${name} ${version}\n\n${text}\n`
})
console.log('This action contains these packages of npm, under their licences.\n')
console.log([...new Set(packages)].sort().join(`\n${'-'.repeat(80)}\n\n`))
