// Puts into the package what is not committed: the ramaria binary, the licence, and the
// sources as CommonJS, since Jest loads test files and what they import as CommonJS.
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { writeCommonJS } from './commonjs.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const binary = process.env.RAMARIA_BIN
if (!binary) {
  console.error('pack: RAMARIA_BIN is not set\nhint: make build, then RAMARIA_BIN=$PWD/bin/ramaria npm pack ./clients/node')
  process.exit(1)
}
mkdirSync(root + 'bin', { recursive: true })
copyFileSync(binary, root + 'bin/ramaria')
chmodSync(root + 'bin/ramaria', 0o755)
copyFileSync(root + '../../LICENSE', root + 'LICENSE')
writeCommonJS(root + 'src', root + 'cjs')
