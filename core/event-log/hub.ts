/**
 * Brings committed events to those who follow a run on this replica. A feed per followed run knows the
 * last sequence it has passed on and hands over the next ones in order, whatever told it of them: an
 * append on this replica, a notification from another one, or the poll. It never skips: an event that
 * is not the next one makes the feed read from the database instead.
 */
import type { StoredEvent } from "#core/event.ts"

/** Called synchronously, in order, with events that follow on the subscriber's cursor. Must not throw. */
export type OnEvents = (events: ReadonlyArray<StoredEvent>) => void

/** Subscribers from which on the deliveries of a busy run are gathered: each costs a write to a socket. */
const largeAudience = 8
/**
 * Milliseconds for which they are gathered: longer for more subscribers, so that the writes of a busy run
 * do not take the whole processor. A run that was quiet for that long is delivered at once.
 */
const gatherFor = (subscribers: number): number => Math.min(10, Math.max(2, subscribers / 40))

/** Events a feed remembers, so that a subscriber that is a little behind needs no query. */
const ringLength = 1_024
/** Characters of payload a feed remembers at most. */
const ringCharacters = 1_048_576

interface Subscription {
  cursor: number
  readonly onEvents: OnEvents
}

interface Feed {
  readonly runId: string
  last: number
  readonly ring: Array<StoredEvent>
  ringSize: number
  readonly subscriptions: Set<Subscription>
  /** Passed on with the next delivery. */
  pending: Array<StoredEvent>
  deliveredAt: number
  timer: NodeJS.Timeout | undefined
}

/** What the hub wants read: events of `runId` after `after`. */
export interface Want {
  readonly runId: string
  readonly after: number
}

export interface Hub {
  /**
   * Follows the run from `cursor` on. `behind`: the feed has passed on more than it remembers; read up
   * from the database first, then join again.
   */
  readonly join: (runId: string, cursor: number, onEvents: OnEvents) => (() => void) | "behind"
  /** Would `join` serve this cursor from memory? */
  readonly remembers: (runId: string, cursor: number) => boolean
  /** Events of one run that this replica has just committed, or read; ascending, without gaps. */
  readonly publish: (runId: string, events: ReadonlyArray<StoredEvent>) => void
  /** Another replica says that the run has got as far as `sequence`. */
  readonly heard: (runId: string, sequence: number) => void
  /** Feeds that know of events they have not got; cleared by asking. */
  readonly takeWanted: () => ReadonlyArray<Want>
  /** Every feed with its cursor: what the poll reads. */
  readonly everyFeed: () => ReadonlyArray<Want>
  readonly followed: () => number
}

/** `onWanted` is called when `takeWanted` has become worth calling. */
export const makeHub = (onWanted: () => void): Hub => {
  const feeds = new Map<string, Feed>()
  const wanted = new Set<Feed>()

  const want = (feed: Feed): void => {
    wanted.add(feed)
    onWanted()
  }

  const remember = (feed: Feed, events: ReadonlyArray<StoredEvent>): void => {
    for (const event of events) {
      feed.ring.push(event)
      feed.ringSize += event.payload.length
    }
    let forget = 0
    while (feed.ring.length - forget > ringLength || feed.ringSize > ringCharacters) {
      feed.ringSize -= feed.ring[forget++]?.payload.length ?? 0
    }
    if (forget > 0) feed.ring.splice(0, forget)
  }

  const publish = (runId: string, events: ReadonlyArray<StoredEvent>): void => {
    const feed = feeds.get(runId)
    const first = events[0]
    const final = events.at(-1)
    if (feed === undefined || first === undefined || final === undefined || final.sequence <= feed.last) return
    if (first.sequence > feed.last + 1) {
      want(feed)
      return
    }
    const next = first.sequence === feed.last + 1 ? events : events.filter((e) => e.sequence > feed.last)
    feed.last = final.sequence
    remember(feed, next)
    for (const event of next) feed.pending.push(event)
    if (feed.timer !== undefined) return
    const audience = feed.subscriptions.size
    const wait = audience < largeAudience ? 0 : feed.deliveredAt + gatherFor(audience) - performance.now()
    if (wait <= 0) deliverPending(feed)
    else feed.timer = setTimeout(deliverPending, wait, feed)
  }

  const deliverPending = (feed: Feed): void => {
    const events = feed.pending
    feed.pending = []
    feed.timer = undefined
    feed.deliveredAt = performance.now()
    for (const subscription of feed.subscriptions) deliver(subscription, events)
  }

  const leave = (feed: Feed, subscription: Subscription): void => {
    if (!feed.subscriptions.delete(subscription) || feed.subscriptions.size > 0) return
    clearTimeout(feed.timer)
    feeds.delete(feed.runId)
    wanted.delete(feed)
  }

  const join: Hub["join"] = (runId, cursor, onEvents) => {
    const known = feeds.get(runId)
    const feed = known ?? newFeed(runId, cursor)
    if (isBehind(feed, cursor)) return "behind"
    const subscription: Subscription = { cursor, onEvents }
    feed.subscriptions.add(subscription)
    feeds.set(runId, feed)
    // what was committed between the subscriber's last read and now is not in the feed yet
    if (known === undefined || feed.last < cursor) want(feed)
    else deliver(subscription, [...feed.ring])
    return () => leave(feed, subscription)
  }

  return {
    join,
    remembers: (runId, cursor) => {
      const feed = feeds.get(runId)
      return feed !== undefined && !isBehind(feed, cursor)
    },
    publish,
    heard: (runId, sequence) => {
      const feed = feeds.get(runId)
      if (feed !== undefined && feed.last < sequence) want(feed)
    },
    takeWanted: () => {
      const wants = [...wanted].map(wantOf)
      wanted.clear()
      return wants
    },
    everyFeed: () => [...feeds.values()].map(wantOf),
    followed: () => feeds.size,
  }
}

const newFeed = (runId: string, last: number): Feed => ({
  runId,
  last,
  ring: [],
  ringSize: 0,
  subscriptions: new Set(),
  pending: [],
  deliveredAt: Number.NEGATIVE_INFINITY,
  timer: undefined,
})

const isBehind = (feed: Feed, cursor: number): boolean =>
  cursor < feed.last && cursor + 1 < (feed.ring[0]?.sequence ?? feed.last + 1)

const wantOf = (feed: Feed): Want => ({ runId: feed.runId, after: feed.last })

const deliver = (subscription: Subscription, events: ReadonlyArray<StoredEvent>): void => {
  const first = events[0]
  const final = events.at(-1)
  if (first === undefined || final === undefined || final.sequence <= subscription.cursor) return
  const next = first.sequence > subscription.cursor ? events : events.filter((e) => e.sequence > subscription.cursor)
  subscription.cursor = final.sequence
  subscription.onEvents(next)
}
