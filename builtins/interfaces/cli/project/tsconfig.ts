import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * A project's tsconfig.json, so that an editor knows what plugins import. Where the package is not installed in the project,
 * its place is named; the same goes for Node's own types.
 */
export function tsconfig(root: string, packageRoot: string): string {
  const types = join(packageRoot, 'dist', 'types')
  const paths = {
    svc: [join(types, 'index.d.ts')],
    'svc/client': [join(types, 'builtins', 'interfaces', 'rest', 'client.d.ts')],
    'svc/testing': [join(types, 'test', 'support', 'index.d.ts')],
    'svc/*': [join(types, 'modules', '*.d.ts')],
  }
  const installed = isInstalled(root)
  const node = find(root, '@types/node') ?? find(packageRoot, '@types/node')
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023', 'esnext.disposable'], module: 'preserve', strict: true, noEmit: true },
    // Plugins are modules, whatever package.json says of the rest of the folder.
    ...{ skipLibCheck: true, allowImportingTsExtensions: true, moduleDetection: 'force' },
    ...(node ? { types: ['node'], ...(installed ? {} : { typeRoots: [dirname(node)] }) } : {}),
    ...(installed ? {} : { paths }),
  }
  return `${JSON.stringify({ compilerOptions, include: ['plugins', '.svc/plugins'] }, null, 2)}\n`
}

/** Whether the project has the package among its own. */
export function isInstalled(root: string): boolean {
  return find(root, 'svc') !== undefined
}

/** The folder of a package, as files in this folder find it. */
function find(folder: string, name: string): string | undefined {
  try {
    return dirname(createRequire(join(folder, 'plugins', 'a.js')).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
