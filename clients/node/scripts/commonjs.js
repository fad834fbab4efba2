// Writes ES modules as CommonJS. It knows the few forms of import and export that
// this package uses, each on a line of its own, and refuses all others.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const forms = [
  [/^import \{ (.+) \} from ('.+')$/gm, (_, names, from) => `const { ${names.replaceAll(' as ', ': ')} } = require(${from})`],
  [/^import (\w+) from ('.+')$/gm, 'const $1 = require($2)'],
  [/^export \{ (.+) \} from ('.+')$/gm, (_, names, from) => names.split(', ').map((n) => `exports.${n} = require(${from}).${n}`).join('\n')],
  [/^export ((?:async )?function|class|const) (\w+)/gm, '$1 $2'],
  [/import\.meta\.url/g, "require('node:url').pathToFileURL(__filename)"],
]

export function commonJS(source) {
  const names = [...source.matchAll(/^export (?:(?:async )?function|class|const) (\w+)/gm)].map((m) => m[1])
  const out = forms.reduce((text, [form, to]) => text.replace(form, to), source)
  const unknown = /^(import|export)\b.*|^.*\bawait import\(.*/m.exec(out)
  if (unknown) throw new Error(`write as CommonJS: this form is not known: ${unknown[0]}`)
  return `'use strict'\n${out}${names.map((n) => `exports.${n} = ${n}\n`).join('')}`
}

export function writeCommonJS(from, to) {
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'package.json'), '{ "type": "commonjs" }\n')
  for (const file of readdirSync(from)) {
    if (file === 'vitest.js') continue // Vitest itself is ESM only
    if (file.endsWith('.d.ts')) copyFileSync(join(from, file), join(to, file))
    else writeFileSync(join(to, file), commonJS(readFileSync(join(from, file), 'utf8')))
  }
}
