/** The 80 classes of COCO in the order in which detectors number them: by id, without the gaps of the 90 ids. */
export const COCO: readonly string[] = Object.freeze([
  ...["person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light"],
  ...["fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow"],
  ...["elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee"],
  ...["skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard"],
  ...["tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple"],
  ...["sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch"],
  ...["potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone"],
  ...["microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase", "scissors", "teddy bear"],
  ...["hair drier", "toothbrush"],
]);

/** COCO's category ids end here. */
export const COCO_LAST_ID = 90;
/** Category ids that COCO never assigned to a class. */
export const COCO_GAPS: ReadonlySet<number> = new Set([12, 26, 29, 30, 45, 66, 68, 69, 71, 83]);
