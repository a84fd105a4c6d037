import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium'
/** Flags for one process for all tabs of a site, in any embedding page. */
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --process-per-site --disable-site-isolation-trials'

/** Whether Chromium is installed (`apt-get install chromium`); without it the browser tests are skipped and say so. */
export const hasChromium = existsSync(CHROMIUM)

/** Host names: the browser reaches only this machine, which has two more names, for attackers. */
const NAMES = 'MAP evil.test 127.0.0.1, MAP rebind.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'
/**
 * Disabled features: the prompt before a page may reach this machine (only the server is tested), and background work.
 * Of a flag given twice the last one counts, so the relevant part of Playwright's own list is repeated here.
 */
const WITHOUT = ['LocalNetworkAccessChecks', 'BlockInsecurePrivateNetworkRequests', 'PaintHolding', 'HttpsUpgrades']
  .concat([
    'HttpsFirstBalancedModeAutoEnable',
    'AvoidUnnecessaryBeforeUnloadCheckSync',
    'ThirdPartyStoragePartitioning',
  ])
  .concat(['AvoidCorsURLLoaderRestartOnRedirect', 'DestroyProfileOnBrowserClose', 'MediaRouter', 'OptimizationHints'])
  .concat(['LensOverlay', 'Translate'])

let running: Promise<Browser> | undefined

/** Returns the one browser of all tests of a file. */
export function theBrowser(): Promise<Browser> {
  running ??= chromium.launch({
    executablePath: CHROMIUM,
    args: [...FLAGS.split(' '), `--host-resolver-rules=${NAMES}`, `--disable-features=${WITHOUT}`],
  })
  return running
}

/** Few pixels and no animations: the tests check no pixels, and animations would be drawn sixty times a second. */
export const UNSEEN = { deviceScaleFactor: 0.5, reducedMotion: 'reduce' } as const

export async function closeBrowser(): Promise<void> {
  await (await running)?.close()
}
