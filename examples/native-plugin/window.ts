/** Is it a time at which nothing is merged? Pure: the time is given. Days and hours are UTC. */

export const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const

export interface Window {
  readonly Day: (typeof days)[number]
  /** From the beginning of this hour … */
  readonly FromHour: number
  /** … to the end of the one before this. */
  readonly ToHour: number
}

export const windowAt = (windows: ReadonlyArray<Window>, time: Date): Window | undefined =>
  windows.find(
    ({ Day, FromHour, ToHour }) =>
      Day === days[time.getUTCDay()] && time.getUTCHours() >= FromHour && time.getUTCHours() < ToHour,
  )
