import { KelpError } from './errors.ts';
import type { SegmentId, UploadId } from './ids.ts';

// What is wrong with an upload that somebody names. Each says which one it is; where in the request it stands knows
// whoever has parsed that.

export const uploadNotFound = (upload: UploadId): KelpError =>
  new KelpError('not-found', 'upload-not-found', 'this topic has no such upload', { extra: { upload } });

export const uploadExpired = (upload: UploadId): KelpError =>
  new KelpError('not-found', 'upload-expired', 'it was not submitted in time', { extra: { upload } });

export const uploadMissing = (upload: UploadId, cause?: unknown): KelpError =>
  new KelpError('conflict', 'upload-missing', 'its bytes are not in the store (yet)', { extra: { upload }, cause });

export const uploadDiffers = (upload: UploadId): KelpError =>
  new KelpError('conflict', 'upload-differs', 'what is in the store is not what was announced', { extra: { upload } });

/** Where it is already. */
export const uploadSubmitted = (upload: UploadId, at: { readonly segment: SegmentId; readonly offset: number }): KelpError =>
  new KelpError('conflict', 'upload-submitted', 'it was submitted before', { extra: { upload, ...at } });

export const uploadInUse = (upload: UploadId): KelpError =>
  new KelpError('conflict', 'upload-in-use', 'another request submits it', { extra: { upload } });

/** The upload that an error made by one of these is about; undefined in any other. */
export const uploadIn = (error: KelpError): UploadId | undefined =>
  error.code.startsWith('upload-') ? (error.extra['upload'] as UploadId | undefined) : undefined;
