import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Returns a project's tsconfig.json, so that an editor resolves what plugins import. Where the package is not installed
 * in the project, its path is included, and likewise for Node's types.
 */
export function tsconfig(root: string, packageRoot: string): string {
  const types = join(packageRoot, 'dist', 'types')
  // Without endings, so that tsx, which obeys `paths` but reads no types, finds a package that is installed later.
  const paths = {
    svc: [join(types, 'index')],
    'svc/client': [join(types, 'builtins', 'interfaces', 'rest', 'client')],
    'svc/testing': [join(types, 'test', 'support', 'index')],
    'svc/*': [join(types, 'modules', '*')],
  }
  const installed = isInstalled(root)
  const node = find(root, '@types/node') ?? find(packageRoot, '@types/node')
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'preserve',
    strict: true,
    noEmit: true,
    // Plugins are ES modules, whatever package.json declares for the folder.
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    moduleDetection: 'force',
    ...(node ? { types: ['node'], ...(installed ? {} : { typeRoots: [dirname(node)] }) } : {}),
    ...(installed ? {} : { paths }),
  }
  return `${JSON.stringify({ compilerOptions, include: ['plugins', '.svc/plugins'] }, null, 2)}\n`
}

/** Returns whether the package is installed in the project. */
export function isInstalled(root: string): boolean {
  return find(root, 'svc') !== undefined
}

/** Returns the folder of a package as resolved from this folder. */
function find(folder: string, name: string): string | undefined {
  try {
    return dirname(createRequire(join(folder, 'plugins', 'a.js')).resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}
