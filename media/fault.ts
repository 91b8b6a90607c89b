/** What was received is not what its format says. The message is fit for whoever sent it. */
export class MediaFault extends Error {}
