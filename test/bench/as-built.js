// What is measured of our sources is what the build makes of them: `--import` this file, after what reads TypeScript.
import module from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { sharingShapes, withoutNames } from '../../build/build-pieces.js'

const OURS = /\/(kernel|builtins)\/.*\.ts$/

// Hooks in the thread itself come before all others, and Node 20 has none.
if (module.registerHooks) module.registerHooks({ load: (url, context, next) => asBuilt(url, next(url, context)) })
else if (isMainThread) module.register(import.meta.url)

/** A hook of Node's: https://nodejs.org/api/module.html#loadurl-context-nextload */
export async function load(url, context, next) {
  return asBuilt(url, await next(url, context))
}

function asBuilt(url, loaded) {
  return OURS.test(url) && loaded.format === 'module'
    ? { ...loaded, source: sharingShapes(withoutNames(String(loaded.source))) }
    : loaded
}
