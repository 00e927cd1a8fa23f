import { JSON_MEDIA } from './media-type.ts';
import { type OperationDocument, type Parameter, timeout, topic } from './operation-document.ts';
import { NewUpload, Upload, UploadId, UploadRequest } from './upload-schemas.ts';

// What is passed by reference, as operation-documents.ts has the rest.

const upload: Parameter = { name: 'upload', in: 'path', schema: UploadId };

export const UPLOAD_DOCUMENTS = {
  createUpload: {
    summary: 'Announces what is going to be sent to the object store itself, and tells how.',
    parameters: [topic, timeout],
    body: { [JSON_MEDIA]: NewUpload },
    answers: { 201: { description: 'It can be sent now.', content: { [JSON_MEDIA]: UploadRequest } } },
    problems: [404, 413, 415, 504],
  },
  getUpload: {
    summary: 'One upload, and where it was published.',
    parameters: [topic, upload, timeout],
    answers: { 200: { description: 'The upload.', content: { [JSON_MEDIA]: Upload } } },
    problems: [404, 406],
  },
} as const satisfies Readonly<Record<string, OperationDocument>>;
