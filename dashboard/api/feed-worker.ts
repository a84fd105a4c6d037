/// <reference lib="webworker" />
import { followFeed } from './follow.ts'
import { type FromTab, type Happening, KEPT, type ToTab } from './messages.ts'

/**
 * Time after which a silent tab counts as closed: a worker is not notified. Hidden tabs may send one message a minute.
 */
const GONE_MS = 200_000

interface Follower {
  tabs: Map<MessagePort, number>
  state: ToTab | undefined
  /** Latest events, for tabs that connect later. */
  latest: Happening[]
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
    follower.tabs.set(port!, Date.now())
  }
})

function startFollower(key: string, headers: Record<string, string>): Follower {
  const tabs = new Map<MessagePort, number>()
  const send = (message: ToTab) => {
    if (message.type === 'state') follower.state = message
    else if (message.type === 'anew') follower.latest = []
    else if (message.type === 'events') follower.latest = [...follower.latest, ...message.events].slice(-KEPT)
    for (const [tab, seen] of tabs) {
      if (Date.now() - seen > GONE_MS) tabs.delete(tab)
      else tab.postMessage(message)
    }
  }
  const follower: Follower = { tabs, state: undefined, latest: [], stop: () => {} }
  followers.set(key, follower)
  follower.stop = followFeed(headers, send)
  return follower
}
