// Removes what prepack.js made.
import { rmSync } from 'node:fs'

for (const made of ['bin', 'cjs', 'LICENSE', 'THIRD_PARTY_NOTICES']) {
  rmSync(new URL('../' + made, import.meta.url), { recursive: true, force: true })
}
