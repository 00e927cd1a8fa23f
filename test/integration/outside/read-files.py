"""What a program outside of Kelp finds in a topic's archived files: one JSON line. Arguments: the reader's name, and where to read (JSON)."""

import datetime
import importlib.util
import json
import pathlib
import sys

# Offset, partition, key, value, headers, timestamp and time of committing (milliseconds), date, segment.
COLUMNS = "kelp_offset kelp_partition kelp_key kelp_value kelp_headers kelp_timestamp kelp_committed kelp_date kelp_segment".split()


def main():
    reader, where = sys.argv[1], json.loads(sys.argv[2])
    json.dump({"hour": datetime.datetime.fromtimestamp(0).hour, **READERS[reader](where)}, sys.stdout)


def with_duckdb(where):
    import duckdb

    db = duckdb.connect()
    folder = pathlib.Path(importlib.util.find_spec("duckdb_extension_httpfs").submodule_search_locations[0])
    (extension,) = folder.glob("extensions/*/httpfs.duckdb_extension")
    db.execute(f"LOAD '{extension}'")
    db.execute(
        f"""CREATE SECRET (TYPE s3, KEY_ID '{where["accessKey"]}', SECRET '{where["secretKey"]}', REGION '{where["region"]}',
            ENDPOINT '{where["endpoint"].removeprefix("http://")}', URL_STYLE 'path', USE_SSL false)"""
    )
    files = f"'s3://{where['bucket']}/{where['folder']}/*/*/*.parquet'"
    one = lambda query: db.execute(query).fetchone()
    all_of = lambda query: db.execute(query).fetchall()
    rows = all_of(
        f"""SELECT kelp_offset, kelp_partition, kelp_key, kelp_value, kelp_headers, epoch_ms(kelp_timestamp), epoch_ms(kelp_committed),
            kelp_date::VARCHAR, kelp_segment FROM {files} ORDER BY kelp_date, kelp_segment, kelp_offset"""
    )
    return {
        "version": duckdb.__version__,
        "columns": [name for name, *_ in all_of(f"DESCRIBE FROM {files}")],
        "dateType": one(f"SELECT typeof(kelp_date) FROM {files} LIMIT 1")[0],
        "byDate": dict(all_of(f"SELECT kelp_date::VARCHAR, count(*) FROM {files} GROUP BY ALL")),
        "onDate": one(f"SELECT count(*) FROM {files} WHERE kelp_date = '{where['date']}'")[0],
        "bySegment": dict(all_of(f"SELECT kelp_segment, count(*) FROM {files} GROUP BY ALL")),
        "byHour": dict(all_of(f"SELECT hour(kelp_timestamp AT TIME ZONE 'UTC')::VARCHAR, count(*) FROM {files} GROUP BY ALL")),
        "offsets": one(f"SELECT min(kelp_offset), max(kelp_offset), sum(kelp_offset)::BIGINT FROM {files}"),
        "times": one(f"SELECT epoch_ms(min(kelp_timestamp)), epoch_ms(max(kelp_timestamp)) FROM {files}"),
        "withKey": one(f"SELECT count(*) FROM {files} WHERE kelp_key = '{where['key']}'::BLOB")[0],
        "tombstones": one(f"SELECT count(*) FROM {files} WHERE kelp_value IS NULL")[0],
        "rows": [[*row[:2], *plain(row[2:5]), *row[5:]] for row in rows],
    }


def with_pyarrow(where):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
    from pyarrow.fs import S3FileSystem

    store = S3FileSystem(
        endpoint_override=where["endpoint"], region=where["region"], access_key=where["accessKey"], secret_key=where["secretKey"]
    )
    # Without being told, it takes all that is no number for text.
    folders = ds.partitioning(pa.schema([("kelp_date", pa.date32()), ("kelp_segment", pa.string())]), flavor="hive")
    data = ds.dataset(f"{where['bucket']}/{where['folder']}", filesystem=store, format="parquet", partitioning=folders)
    files = [pq.ParquetFile(path, filesystem=store).metadata for path in sorted(data.files)]
    date = pa.scalar(where["date"]).cast(pa.date32())
    table = data.to_table().sort_by([(name, "ascending") for name in ("kelp_date", "kelp_segment", "kelp_offset")])
    text = pc.cast(table["kelp_date"], pa.string())
    milliseconds = lambda name: pc.cast(table[name], pa.int64())
    hours = pa.array([str(one // 3_600_000 % 24) for one in milliseconds("kelp_timestamp").to_pylist()])
    shown = [
        table["kelp_offset"].to_pylist(),
        table["kelp_partition"].to_pylist(),
        table["kelp_key"].to_pylist(),
        table["kelp_value"].to_pylist(),
        table["kelp_headers"].to_pylist(),
        milliseconds("kelp_timestamp").to_pylist(),
        milliseconds("kelp_committed").to_pylist(),
        text.to_pylist(),
        table["kelp_segment"].to_pylist(),
    ]
    least, most = pc.min_max(table["kelp_offset"]).as_py().values()
    first, last = pc.min_max(milliseconds("kelp_timestamp")).as_py().values()
    return {
        "version": pa.__version__,
        "rowGroups": [[bounds(file, index) for index in range(file.num_row_groups)] for file in files],
        "columns": table.column_names,
        "dateType": str(table.schema.field("kelp_date").type),
        "byDate": counts(text),
        "onDate": data.count_rows(filter=ds.field("kelp_date") == date),
        "bySegment": counts(table["kelp_segment"]),
        "byHour": counts(hours),
        "offsets": [least, most, pc.sum(table["kelp_offset"]).as_py()],
        "times": [first, last],
        "withKey": data.count_rows(filter=ds.field("kelp_key") == pa.scalar(where["key"].encode(), pa.binary())),
        "tombstones": data.count_rows(filter=ds.field("kelp_value").is_null()),
        "rows": [[*row[:2], *plain(row[2:5]), *row[5:]] for row in zip(*shown)],
    }


def with_polars(where):
    import polars as pl

    options = {
        "aws_endpoint_url": where["endpoint"],
        "aws_access_key_id": where["accessKey"],
        "aws_secret_access_key": where["secretKey"],
        "aws_region": where["region"],
        "aws_allow_http": "true",
    }
    data = pl.scan_parquet(f"s3://{where['bucket']}/{where['folder']}/**/*.parquet", hive_partitioning=True, storage_options=options)
    date = pl.lit(where["date"]).str.to_date()
    milliseconds = lambda name: pl.col(name).dt.epoch("ms")
    counted = lambda by: {str(key): count for key, count in data.group_by(by.alias("key")).len().collect().iter_rows()}
    number = lambda condition: data.filter(condition).select(pl.len()).collect().item()
    rows = (
        data.with_columns(milliseconds("kelp_timestamp"), milliseconds("kelp_committed"), kelp_text=pl.col("kelp_date").cast(pl.String))
        .sort("kelp_date", "kelp_segment", "kelp_offset")
        .select(*COLUMNS[:7], "kelp_text", "kelp_segment")
        .collect()
    )
    offset = pl.col("kelp_offset")
    summary = data.select(
        offset.min().alias("least"),
        offset.max().alias("most"),
        offset.sum().alias("sum"),
        milliseconds("kelp_timestamp").min().alias("first"),
        milliseconds("kelp_timestamp").max().alias("last"),
    )
    least, most, total, first, last = summary.collect().row(0)
    return {
        "version": pl.__version__,
        "columns": data.collect_schema().names(),
        "dateType": str(data.collect_schema()["kelp_date"]),
        "byDate": counted(pl.col("kelp_date").cast(pl.String)),
        "onDate": number(pl.col("kelp_date") == date),
        "bySegment": counted(pl.col("kelp_segment")),
        "byHour": counted(pl.col("kelp_timestamp").dt.hour()),
        "offsets": [least, most, total],
        "times": [first, last],
        "withKey": number(pl.col("kelp_key") == where["key"].encode()),
        "tombstones": number(pl.col("kelp_value").is_null()),
        "rows": [[*row[:2], *plain(row[2:5]), *row[5:]] for row in rows.iter_rows()],
    }


def bounds(file, index):
    """Rows, and the least and highest value of columns of whole numbers, by the file's footer alone."""
    group = file.row_group(index)
    chunks = {group.column(at).path_in_schema: group.column(at).statistics for at in range(group.num_columns)}
    shown = lambda name: [chunks[name].min_raw, chunks[name].max_raw]
    return [group.num_rows, *shown("kelp_offset"), *shown("kelp_timestamp")]


def counts(column):
    return {one["values"]: one["counts"] for one in column.value_counts().to_pylist()}


def plain(parts):
    """Key, value and headers: bytes as hexadecimal digits."""
    key, value, headers = parts
    return [key.hex(), hexed(value), [[one["name"], hexed(one["value"])] for one in headers]]


def hexed(value):
    return None if value is None else value.hex()


READERS = {"duckdb": with_duckdb, "pyarrow": with_pyarrow, "polars": with_polars}

if __name__ == "__main__":
    main()
