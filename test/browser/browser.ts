import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium'
/** One process for all tabs of a site, in any embedding page. */
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --process-per-site --disable-site-isolation-trials'

/** Where there is no Chromium (`apt-get install chromium`), the browser's tests are skipped and say so. */
export const hasChromium = existsSync(CHROMIUM)

/** It reaches nothing but this machine, which has two more names: those of attackers. */
const NAMES = 'MAP evil.test 127.0.0.1, MAP rebind.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'
/**
 * Left out: that a browser asks before a page may reach this machine (what is tested is the server alone), and what goes on
 * beside the pages. Of what is named twice the last counts, so Playwright's own list stands here too, as far as it matters.
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

/** The one browser of all tests of a file: each has a context of its own. */
export function theBrowser(): Promise<Browser> {
  running ??= chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...FLAGS.split(' '),
      `--host-resolver-rules=${NAMES}`,
      `--disable-features=${WITHOUT}`,
      ...(process.env.XF ?? '').split(' ').filter(Boolean),
    ],
  })
  return running
}

/** No one looks at the pixels, so there are few; and what moves for the eye alone would be drawn sixty times a second. */
export const UNSEEN = { deviceScaleFactor: 0.5, reducedMotion: 'reduce' } as const

export async function closeBrowser(): Promise<void> {
  await (await running)?.close()
}
