// What is measured of our sources is what the build makes of them: `--import` this file, after what reads TypeScript.
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { sharingShapes, withoutNames } from '../../build-pieces.js'

const OURS = /\/(kernel|builtins)\/.*\.ts$/

if (isMainThread) register(import.meta.url)

/** A hook of Node's: https://nodejs.org/api/module.html#loadurl-context-nextload */
export async function load(url, context, next) {
  const loaded = await next(url, context)
  return OURS.test(url) && loaded.format === 'module'
    ? { ...loaded, source: sharingShapes(withoutNames(String(loaded.source))) }
    : loaded
}
