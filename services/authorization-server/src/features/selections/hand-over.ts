import { hashId, newRandomId } from '../../browser/session/random-id.js'
import type { Handover, HandoverStore } from './handover-store.js'

/** @returns the address of the page of the API, for the browser that is handed over */
export async function handOver(handover: Handover, handovers: Pick<HandoverStore, 'add'>): Promise<string> {
  const id = newRandomId()
  await handovers.add(hashId(id), handover)
  return `${handover.audience.replace(/\/$/, '')}/choose?handover=${id}`
}
