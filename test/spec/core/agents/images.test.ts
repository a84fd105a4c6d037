import { deflateSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { ImageHolders, Images } from '#core/images/contract'
import images from '#core/images/index'
import { definePlugin } from '#kernel'
import { Retention } from '#platform/retention/contract'
import retention from '#platform/retention/index'
import store from '#platform/store/index'
import { testHost } from '../../../support/index.ts'
import { pngOf, pngWith } from '../../../support/png.ts'
import { rows } from '../models/model-host.ts'
import { JPEG, PNG, WEBP, WEBP_ALPHA, WEBP_LOSSLESS } from './pictures.ts'

const canScale = await import('sharp').then(
  () => true,
  () => false,
)
const DAY_MS = 86_400_000

async function keeping() {
  const held = new Set<string>()
  const holder = definePlugin({
    name: 'holder',
    setup: svc => void svc.add(ImageHolders, { name: 'holder', heldHashes: async () => [...held] }),
  })
  const builtins = [store, images, retention, holder]
  const home = await testHost({ builtins, roles: ['cli'], config: { retention: { days: 30 } } })
  onTestFinished(() => home.close())
  return Object.assign(home, { images: home.kernel.use(Images), held })
}

it.each([
  ['PNG', PNG, 'image/png'],
  ['JPEG', JPEG, 'image/jpeg'],
  ['WebP', WEBP, 'image/webp'],
  ['lossless WebP', WEBP_LOSSLESS, 'image/webp'],
  ['WebP with transparency', WEBP_ALPHA, 'image/webp'],
])('a small %s is stored unchanged and once, and its type is read from its bytes', async (_, data, media_type) => {
  const home = await keeping()
  const kept = await home.images.keep({ data, name: 'picture.gif' })
  const again = await home.images.keep({ data: Buffer.from(data, 'base64') })
  expect(kept).toMatchObject({ media_type, width: 16, height: 8, name: 'picture.gif' })
  expect(again).toMatchObject({ sha256: kept.sha256 })
  expect(await home.images.load([kept.sha256])).toEqual(new Map([[kept.sha256, data]]))
  expect(await rows(home, 'SELECT count(*) AS n FROM images')).toEqual([{ n: 1 }])
  expect(await home.kernel.invoke('images.get', { sha256: kept.sha256 })).toMatchObject({ data, media_type })
})

const half = Buffer.from(PNG, 'base64').subarray(0, 40)

it.each([
  ['an SVG', Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'), /it is an SVG; convert it/],
  [
    'a GIF',
    Buffer.from('GIF89a\x01\0\x01\0'),
    /it is a GIF; convert it to one of image\/png, image\/jpeg, image\/webp/,
  ],
  ['a PDF', Buffer.from('%PDF-1.7'), /it is a PDF/],
  ['a HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1'), /it is an AVIF or HEIC/],
  ['text', Buffer.from('hello'), /it is not an image of a known format; convert it to one of image\/png/],
  ['nothing', Buffer.alloc(0), /not an image/],
  ['two bytes', Buffer.from([0xff, 0xd8]), /not an image/],
  ['half a PNG', half, /cut off/],
  ['half a JPEG', Buffer.from(JPEG, 'base64').subarray(0, 200), /cut off/],
  ['half a WebP', Buffer.from(WEBP, 'base64').subarray(0, 40), /cut off/],
  ['a PNG without pixels', pngWith(0, 10, Buffer.alloc(10)), /a width or height of 0/],
  [
    'a decompression bomb',
    pngWith(40_000, 40_000, deflateSync(Buffer.alloc(1_000))),
    /40000 × 40000 pixels.*50 million/,
  ],
  ['50 MB', Buffer.alloc(50_000_000, 1), /has 50 MB, and the maximum is 10 MB/],
  ['no base64', 'not base64!', /not base64/],
  ['50 MB of base64', 'A'.repeat(66_666_668), /has 50\.1 MB, and the maximum is 10 MB/],
])('%s is refused with the reason', async (_, data, says) => {
  const home = await keeping()
  await expect(home.images.keep({ data, name: 'a.png' })).rejects.toThrow(says)
  await expect(home.images.keep({ data, name: 'a.png' })).rejects.toMatchObject({ code: 'image_refused', status: 422 })
  expect(await rows(home, 'SELECT count(*) AS n FROM images')).toEqual([{ n: 0 }])
})

it.skipIf(!canScale)('an image with a valid header that cannot be decoded is refused', async () => {
  const home = await keeping()
  const lying = pngWith(500, 500, deflateSync(Buffer.alloc(1_000)))
  await expect(home.images.keep({ data: lying })).rejects.toThrow(/cannot be decoded/)
})

it.skipIf(canScale)('without sharp, a large image is refused with the command that installs it', async () => {
  const home = await keeping()
  await expect(home.images.keep({ data: pngOf(1_600, 10) })).rejects.toThrow(/1600 × 10 pixels .*npm install sharp/)
})

it.skipIf(!canScale)('a large image is scaled down to the size that models use', async () => {
  const home = await keeping()
  const kept = await home.images.keep({ data: pngOf(4_000, 2_000) })
  expect(kept).toMatchObject({ media_type: 'image/png', width: 1568, height: 784 })
  const noisy = await home.images.keep({ data: pngOf(1_700, 1_700, 'noise') })
  expect(noisy).toMatchObject({ media_type: 'image/jpeg', width: 1568, height: 1568 })
  const data = (await home.images.load([noisy.sha256])).get(noisy.sha256)!
  expect(Buffer.from(data, 'base64').length).toBe(noisy.bytes)
})

it('old images that no message refers to any more are removed', async () => {
  const home = await keeping()
  const { sha256 } = await home.images.keep({ data: PNG })
  await home.images.keep({ data: JPEG })
  home.held.add(sha256)
  const clean = () => home.kernel.use(Retention).run()
  expect((await clean()).rows.images).toBe(0)
  await home.clock.advance(31 * DAY_MS)
  expect((await clean()).rows.images).toBe(1)
  expect([...(await home.images.load([sha256])).keys()]).toEqual([sha256])
  home.held.clear()
  expect((await clean()).rows.images).toBe(1)
})
