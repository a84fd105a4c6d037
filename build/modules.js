import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns the file of a name such as `#core/agents/contract`, relative to the checkout. */
const fileOf = name =>
  name === '#kernel' ? 'kernel/index.ts' : name.replace(/^#(.*)/, 'builtins/$1.ts').replace(/^\.\//, 'embed/')

/** The source file of each `svc/<module>`, relative to the checkout, from `embed/modules.ts`. */
export const MODULES = Object.fromEntries(
  [
    ...readFileSync(join(fileURLToPath(new URL('..', import.meta.url)), 'embed/modules.ts'), 'utf8').matchAll(
      /^export \* as '?([\w-]+)'? from '(.+)'$/gm,
    ),
  ].map(([, name, from]) => [name, fileOf(from)]),
)
