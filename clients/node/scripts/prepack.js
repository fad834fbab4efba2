// Puts into the package what is not committed: the ramaria binary, the licences, and the
// sources as CommonJS, since Jest loads test files and what they import as CommonJS.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { writeCommonJS } from './commonjs.js'

const root = fileURLToPath(new URL('..', import.meta.url))
mkdirSync(root + 'bin', { recursive: true })
const { version, optionalDependencies } = JSON.parse(readFileSync(root + 'package.json', 'utf8'))
// Where other packages have the program, see packaging/release/npm.sh, a launcher stands in its place.
const program = root + (optionalDependencies ? 'bin/ramaria.js' : 'bin/ramaria')
if (optionalDependencies) copyFileSync(root + 'scripts/launcher.js', program)
else if (process.env.RAMARIA_BIN) copyFileSync(process.env.RAMARIA_BIN, program)
else build(program)
chmodSync(program, 0o755)
for (const file of ['LICENSE', 'THIRD_PARTY_NOTICES']) copyFileSync(root + '../../' + file, root + file)
writeCommonJS(root + 'src', root + 'cjs')

// build has Go build the binary of the checkout that the client lies in.
function build(binary) {
  const source = root + '../..'
  const hint = 'pack in a clone of the project with Go, or set RAMARIA_BIN to the path of a static ramaria'
  const flags = `-s -w -X github.com/ramaria-db/ramaria/internal/cli.version=${version}-dev`
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', flags, '-o', binary, './cmd/ramaria']
  if (!existsSync(source + '/cmd/ramaria')) fail('RAMARIA_BIN does not name the ramaria binary to put in', hint)
  const { error, status } = spawnSync('go', args, { cwd: source, env: { ...process.env, CGO_ENABLED: '0' }, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error || status !== 0) fail(`go build: ${error?.message ?? `exit status ${status}`}`, hint)
}

function fail(message, hint) {
  console.error(`pack: ${message}\nhint: ${hint}`)
  process.exit(1)
}
