// Writes package.json of the package without a binary: npm.mjs PACKAGE.JSON VERSION.
import { readFileSync, writeFileSync } from 'node:fs'

const [, , path, version] = process.argv
const p = JSON.parse(readFileSync(path, 'utf8'))
p.version = version
p.bin = { ramaria: 'bin/ramaria.js' }
p.files = ['bin/ramaria.js', 'cjs', 'src'] // what is built into the program is in the package with the program
p.optionalDependencies = { 'ramaria-linux-x64': version, 'ramaria-linux-arm64': version }
writeFileSync(path, `${JSON.stringify(p, null, 2)}\n`)
