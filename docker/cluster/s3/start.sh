#!/bin/sh
# Starts SeaweedFS with one user, `windhover`, whose secret key is S3_SECRET. The ports of its other parts need no password:
# only containers of this network reach them.
set -eu
umask 077
cat > /tmp/s3.json <<JSON
{
  "identities": [
    {
      "name": "windhover",
      "credentials": [{ "accessKey": "windhover", "secretKey": "${S3_SECRET:?set it in docker/cluster/.env}" }],
      "actions": ["Admin", "Read", "Write", "List", "Tagging"]
    }
  ]
}
JSON
exec weed -logtostderr=true server -ip=s3 -ip.bind=0.0.0.0 -dir=/data -s3 -s3.config=/tmp/s3.json -volume.max=0
