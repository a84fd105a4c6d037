/// <reference lib="webworker" />
import { followFeed } from './follow.ts'
import { type FeedEvent, type FromTab, HELLO_MS, KEPT, type ToTab } from './messages.ts'

/**
 * Number of missing signs of life after which a tab counts as closed: a worker is not notified. Hidden tabs may send
 * them late.
 */
const MOST_MISSING = 3

interface Follower {
  /** Number of signs of life that each tab has missed. */
  tabs: Map<MessagePort, number>
  state: ToTab | undefined
  /** Latest events, for tabs that connect later. */
  latest: FeedEvent[]
  stop(): void
}

/** Streams by their headers, one for all tabs with the same: browsers allow six connections to a server. */
const followers = new Map<string, Follower>()

addEventListener('connect', event => {
  const [port] = (event as MessageEvent).ports
  let mine: string | undefined
  const leave = () => {
    const follower = mine === undefined ? undefined : followers.get(mine)
    follower?.tabs.delete(port!)
    if (follower && follower.tabs.size === 0) {
      follower.stop()
      followers.delete(mine!)
    }
    mine = undefined
  }
  port!.onmessage = ({ data }: MessageEvent<FromTab>) => {
    if (data.type === 'bye') return leave()
    const key = JSON.stringify(data.headers)
    if (key !== mine) leave()
    mine = key
    const follower = followers.get(key) ?? startFollower(key, data.headers)
    if (!follower.tabs.has(port!)) {
      if (follower.state) port!.postMessage(follower.state)
      port!.postMessage({ type: 'events', events: follower.latest } satisfies ToTab)
    }
    follower.tabs.set(port!, 0)
  }
})

// Counts its own ticks, not time: while the machine slept, no tab could send a sign of life.
setInterval(() => {
  for (const { tabs } of followers.values()) {
    for (const [tab, missing] of tabs) {
      if (missing < MOST_MISSING) tabs.set(tab, missing + 1)
      else tabs.delete(tab)
    }
  }
}, HELLO_MS)

function startFollower(key: string, headers: Record<string, string>): Follower {
  const tabs = new Map<MessagePort, number>()
  const send = (message: ToTab) => {
    if (message.type === 'state') follower.state = message
    else if (message.type === 'anew') follower.latest = []
    else if (message.type === 'events') follower.latest = [...follower.latest, ...message.events].slice(-KEPT)
    for (const tab of tabs.keys()) tab.postMessage(message)
  }
  const follower: Follower = { tabs, state: undefined, latest: [], stop: () => {} }
  followers.set(key, follower)
  follower.stop = followFeed(headers, send)
  return follower
}
